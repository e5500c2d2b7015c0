import { describe, expect, it } from 'vitest';
import { networkFault } from './install-packages.ts';

describe('an installation that failed', () => {
  it('because of the network names the line that says so', () => {
    const output = [
      "WARNING: Retrying after connection broken by 'NewConnectionError(…: [Errno 111] Connection refused)'",
      'ERROR: No matching distribution found for numpy',
    ].join('\n');
    expect(networkFault(output)).toMatch(/^WARNING: Retrying/);
  });

  it('because this Python has no such version does not blame the network', () => {
    const output = 'ERROR: Could not find a version that satisfies the requirement numpy==2.4.6 (from versions: none)';
    expect(networkFault(output)).toBeUndefined();
  });
});
