import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { ensureRunsc, isRecentVersion } from './runsc.ts';

describe('a runsc that is installed', () => {
  it.each([
    ['runsc version release-20260901.0\nspec: 1.2.1\n', true],
    ['runsc version VERSION_MISSING\nspec: 1.2.1\n', true],
    ['runsc version 0.0~20221219.0\nspec: 1.0.2\n', false],
  ])('that says %j is recent enough: %s', (output, recent) => {
    expect(isRecentVersion(output)).toBe(recent);
  });
});

it.skipIf(process.platform !== 'linux')(
  'is not taken from the search path where other users could exchange it',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hotcell-runsc-'));
    try {
      const [bin, ran] = [join(folder, 'bin'), join(folder, 'ran')];
      mkdirSync(bin);
      writeFileSync(join(bin, 'runsc'), `#!/bin/sh\ntouch ${ran}\necho release-20260901.0\n`, { mode: 0o755 });
      vi.stubEnv('PATH', `${bin}:/usr/bin:/bin`);
      expect(await ensureRunsc(join(folder, 'data'), () => {})).toBe(join(bin, 'runsc'));
      rmSync(ran);
      chmodSync(bin, 0o777);
      await expect(ensureRunsc(join(folder, 'data'), () => {})).rejects.toThrow(/can be written to by other users/);
      expect(existsSync(ran)).toBe(false);
    } finally {
      vi.unstubAllEnvs();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
