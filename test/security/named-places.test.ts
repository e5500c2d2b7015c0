import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildOnce } from '../support/built-program.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { CLI } from '../support/other-user.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

/**
 * The user runs a stranger's program in the stranger's repository and names places in it. `by-path` stands for a program that looks such a place up by its path
 * again: it shows that the attack has come in time, and works.
 */
let data: ReturnType<typeof makeHome>;
let home: string;
let repository: string;
const secrets = () => join(home, 'secrets');

beforeAll(() => {
  buildOnce();
  data = makeHome();
  return data.remove;
});
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hotcell-named-'));
  chmodSync(home, 0o755);
  repository = join(home, 'repository');
  for (const folder of [secrets(), repository]) mkdirSync(folder);
  chmodSync(repository, 0o777); // for the user of the jail
  writeFileSync(join(secrets(), 'authorized_keys'), 'of the user');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function inRepository(...args: string[]) {
  return spawnSync(process.execPath, [CLI, ...args], {
    cwd: repository,
    encoding: 'utf8',
    env: { ...process.env, HOTCELL_HOME: data.home, HOTCELL_ISOLATION: 'process', NO_COLOR: '1' },
  });
}

/** Leaves a process behind that puts a link to the secrets in the place of `out` as soon as the first file is being saved there. */
const EXCHANGES = (target: string) => `
import subprocess, sys
open('aaa.bin', 'wb').write(b'x' * 40_000_000)
open('authorized_keys', 'w').write('of the attacker')
open('/tmp/exchange.py', 'w').write('''
import os, time
os.symlink(${JSON.stringify(target)}, '/w/.link')
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        if any(name.startswith('.hotcell-') for name in os.listdir('/w/out')): break
    except OSError: pass
os.rename('/w/out', '/w/moved')
os.rename('/w/.link', '/w/out')
''')
subprocess.Popen([sys.executable, '/tmp/exchange.py'], start_new_session=True, stdin=-3, stdout=-3, stderr=-3)
`;

describe.skipIf((await reasonToSkip(TARGETS.single)) !== undefined)("places in a stranger's repository", () => {
  it('are the same folder to the end, whatever a process in the sandbox puts in their place', () => {
    writeFileSync(join(repository, 'main.py'), EXCHANGES(secrets()));
    const { status, stderr } = inRepository('run', '--mount', '.:/w:rw', '--save-artifacts', 'out', 'main.py');
    expect(stderr).toContain('replaced while files were saved');
    expect(status).toBe(73);
    writeFileSync(join(repository, 'out', 'by-path'), '');
    expect(readdirSync(secrets()).sort()).toEqual(['authorized_keys', 'by-path']);
    expect(readFileSync(join(secrets(), 'authorized_keys'), 'utf8')).toBe('of the user');
    expect(readdirSync(join(repository, 'moved')).sort()).toEqual(['aaa.bin', 'authorized_keys']);
  });

  it('are not the settings of git, by a link that the repository brings along', () => {
    execFileSync('git', ['init', '-q'], { cwd: repository });
    symlinkSync('.git', join(repository, 'results'));
    const ran = join(home, 'ran');
    const config = `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = "touch ${ran}; false"\n`;
    writeFileSync(join(repository, 'main.py'), `open('config', 'w').write(${JSON.stringify(config)})\n`);
    const status = () => spawnSync('git', ['-c', 'safe.directory=*', 'status'], { cwd: repository });

    const saving = inRepository('run', '--save-artifacts', 'results', 'main.py');
    expect(saving.stderr).toContain('results is a symbolic link');
    const mounting = inRepository('run', '--mount', 'results:/data:rw', 'main.py');
    expect(mounting.stderr).toContain('results is a symbolic link');
    status();
    expect(existsSync(ran)).toBe(false);

    writeFileSync(join(repository, 'results', 'config'), config); // by-path
    status();
    expect(existsSync(ran)).toBe(true);
  });
});
