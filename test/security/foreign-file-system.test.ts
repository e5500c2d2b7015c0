import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeOwnFolder, requireTrusted } from '../../src/lib/own-folder.ts';
import { nextLine, STRANGER } from '../support/other-user.ts';

const canMount = process.getuid?.() === 0 && existsSync('/dev/fuse');
const program = join(import.meta.dirname, '../support/foreign_files.py');

let shared: string;
let mounted: ChildProcess;

describe.skipIf(!canMount)('a file system of another user, in a folder that is for everybody', () => {
  beforeEach(() => {
    shared = mkdtempSync(join(tmpdir(), 'hc-shared-'));
    chmodSync(shared, 0o1777);
    mkdirSync(join(shared, 'hotcell'));
  });
  afterEach(async () => {
    mounted.stdin?.end();
    if (mounted.exitCode === null) await once(mounted, 'exit');
    rmdirSync(join(shared, 'hotcell'));
    rmdirSync(shared);
  });

  async function mount(user: number): Promise<string> {
    mounted = spawn('python3', ['-I', program, join(shared, 'hotcell'), String(user)]);
    expect(await nextLine(mounted)).toBe('mounted');
    return join(shared, 'hotcell');
  }

  it('looks like a folder of ours, and is refused', async () => {
    const folder = await mount(STRANGER);
    expect(lstatSync(folder)).toMatchObject({ uid: 0, mode: 0o40700 });
    for (const use of [() => makeOwnFolder(folder, 0o700), () => requireTrusted(folder)]) {
      expect(use).toThrow(`${folder} is a file system of another user (uid ${STRANGER}), who decides what it shows`);
    }
  });

  it('is taken where the user of this process mounted it', async () => {
    makeOwnFolder(await mount(0), 0o700);
  });
});
