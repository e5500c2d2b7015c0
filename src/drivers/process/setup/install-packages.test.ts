import { describe, expect, it } from 'vitest';
import { choosePackages, networkFault } from './install-packages.ts';

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

describe('the packages to install', () => {
  it.each([11, 12, 13, 14])('are the locked ones for Python 3.%i, by their hashes', (minor) => {
    for (const arch of ['x64', 'arm64'] as const) {
      const { args, locked } = choosePackages(minor, { platform: 'linux', arch });
      expect(locked).toBe(true);
      expect(args).toContain('--require-hashes');
    }
  });

  it.each([
    [10, 'linux', 'x64'],
    [15, 'linux', 'x64'],
    [12, 'linux', 'ppc64'],
    [12, 'darwin', 'arm64'],
  ] as const)('are any that fit for Python 3.%i on %s %s, which no lock is for', (minor, platform, arch) => {
    const { args, locked } = choosePackages(minor, { platform, arch });
    expect(locked).toBe(false);
    expect(args).toContain('numpy');
  });
});
