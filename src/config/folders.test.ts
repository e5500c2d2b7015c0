import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openDataFolder, openRunFolder } from './folders.ts';

it('creates a missing data folder, and has the same id the next time', () => {
  const root = mkdtempSync(join(tmpdir(), 'hc-data-'));
  try {
    const id = openDataFolder(join(root, 'a/b'));
    expect(id).toMatch(/^\w{10}$/);
    expect(openDataFolder(join(root, 'a/b'))).toBe(id);
    writeFileSync(join(root, 'file'), '');
    expect(() => openDataFolder(join(root, 'file'))).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

it('refuses a folder where other users may write, with a remedy', () => {
  const root = mkdtempSync(join(tmpdir(), 'hc-data-'));
  try {
    mkdirSync(join(root, 'open'));
    chmodSync(join(root, 'open'), 0o777);
    for (const open of [openDataFolder, openRunFolder]) {
      for (const path of [join(root, 'open'), join(root, 'open/below')]) {
        expect(() => open(path)).toThrow(
          expect.objectContaining({
            code: 'invalid_argument',
            message: expect.stringContaining(
              `${path}, cannot be used: ${join(root, 'open')} can be written to by other users`,
            ),
            remedy: `Check its contents, then run: chmod go-w ${join(root, 'open')}`,
          }),
        );
      }
    }
    expect(readdirSync(join(root, 'open'))).toEqual([]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

it.skipIf(!existsSync('/proc/self')).each(['/proc/x', '/proc/x/y', '/proc/self'])(
  'refuses %s, where there can be no folder, at once and says what to change',
  (path) => {
    expect(() => openDataFolder(path)).toThrow(
      expect.objectContaining({
        code: 'invalid_argument',
        message: expect.stringMatching(/^the data folder, \/proc\/.*, cannot be used \((ENOENT|EPERM)\)$/),
        remedy: 'Set HOTCELL_HOME to a folder that you may write to.',
      }),
    );
    expect(() => openRunFolder(join(path, 'run'))).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
  },
);
