import { chmodSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeOwnFolder } from '../../lib/own-folder.ts';
import { UntrustedPathError } from '../../lib/untrusted-path.ts';
import { codePath, readGuestCode } from './guest-code.ts';

const files = [{ path: 'a.py', content: Buffer.from('x = 1') }];
let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'hotcell-code-'));
  makeOwnFolder(join(dataDir, 'guest-code'), 0o700);
});

afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

describe.skipIf(process.platform === 'win32')('byte code of the guest', () => {
  test('is read only if set-up has compiled it from the same files', () => {
    expect(readGuestCode(dataDir, files)).toBeUndefined();
    writeFileSync(codePath(dataDir, files), 'code', { mode: 0o600 });
    expect(readGuestCode(dataDir, files)?.toString()).toBe('code');
    expect(readGuestCode(dataDir, [{ path: 'a.py', content: Buffer.from('x = 2') }])).toBeUndefined();
    expect(readdirSync(join(dataDir, 'guest-code'))).toHaveLength(1);
  });

  test('that another user can write to is refused', () => {
    writeFileSync(codePath(dataDir, files), 'code');
    chmodSync(codePath(dataDir, files), 0o666);
    expect(() => readGuestCode(dataDir, files)).toThrow(UntrustedPathError);
  });

  test('in a folder where another user can exchange it is refused', () => {
    writeFileSync(codePath(dataDir, files), 'code', { mode: 0o600 });
    chmodSync(join(dataDir, 'guest-code'), 0o777);
    expect(() => readGuestCode(dataDir, files)).toThrow(UntrustedPathError);
  });

  test('behind a link into such a folder is refused', () => {
    const open = mkdtempSync(join(tmpdir(), 'hotcell-open-'));
    chmodSync(open, 0o777);
    writeFileSync(join(open, 'code'), 'code');
    symlinkSync(join(open, 'code'), codePath(dataDir, files));
    expect(() => readGuestCode(dataDir, files)).toThrow(UntrustedPathError);
    rmSync(open, { recursive: true });
  });
});
