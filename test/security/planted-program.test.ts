import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { resolveDataDir } from '../../src/config/load.ts';
import { buildOnce } from '../support/built-program.ts';
import { CLI } from '../support/other-user.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const reason = await reasonToSkip(TARGETS.shared);

/** Programs that Hotcell runs on the host, and one that no system has. */
const NAMES = ['docker', 'runsc', 'uv', 'npm', 'go', 'python3', 'mmdebstrap', 'hotcell-none'];
const FOLDERS = ['.venv/bin', 'tools'];

let place: string;
let project: string;
const ran = () => join(place, 'ran');

beforeAll(() => buildOnce());
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'hc-planted-'));
  chmodSync(place, 0o755);
  project = join(place, 'project');
  for (const folder of ['home', 'data', ...FOLDERS.map((name) => join('project', name))])
    mkdirSync(join(place, folder), { recursive: true });
  // As in a project whose owner shares it with the user of sandboxes.
  for (const folder of ['', ...FOLDERS]) chmodSync(join(project, folder), 0o777);
  chmodSync(join(place, 'data'), 0o711);
  symlinkSync(join(resolveDataDir(), 'python'), join(place, 'data/python'));
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

function inProject(program: string, args: readonly string[], input = '') {
  const path = [...FOLDERS.map((name) => join(project, name)), process.env.PATH].join(delimiter);
  const env = { PATH: path, HOME: join(place, 'home'), HOTCELL_HOME: join(place, 'data'), NO_COLOR: '1' };
  return spawnSync(program, args, { cwd: project, env, input, encoding: 'utf8' });
}

/** Code in a sandbox that has the project, and places programs in the folders of it that are on the search path. */
const plant = () => `
import os
for folder in ${JSON.stringify(FOLDERS)}:
    for name in ${JSON.stringify(NAMES)}:
        path = os.path.join("/project", folder, name)
        with open(path, "w") as file:
            file.write("#!/bin/sh\\necho $0 >> ${ran()}\\nexit 1\\n")
        os.chmod(path, 0o755)
print("planted")
`;

describe.skipIf(reason !== undefined)('programs that code in a sandbox places in a project on the search path', () => {
  beforeEach(() => {
    const args = ['run', '--isolation', 'process', '--mount', `${project}:/project:rw`, '-'];
    const { stdout, stderr } = inProject(process.execPath, [CLI, ...args], plant());
    expect(stdout + stderr).toContain('planted');
  });

  it('are what a shell runs', () => {
    inProject('/bin/sh', ['-c', 'docker version']);
    expect(readFileSync(ran(), 'utf8')).toContain('.venv/bin/docker');
  });

  it.each(['status', 'doctor', 'doctor --json', 'setup process'])(
    'are not run by `hotcell %s`',
    { timeout: 120_000 },
    (command) => {
      const { stdout } = inProject(process.execPath, [CLI, ...command.split(' ')]);
      expect(stdout).not.toBe('');
      expect(existsSync(ran())).toBe(false);
    },
  );
});
