import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { resolveDataDir } from '../../src/config/load.ts';
import { buildOnce } from '../support/built-program.ts';
import { CLI } from '../support/other-user.ts';
import { onlyWithAll, strength } from '../support/strength.ts';
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

interface Call {
  readonly input?: string;
  /** Folders of the project on the search path. */
  readonly onPath?: readonly string[];
  readonly cwd?: string;
}

function call(program: string, args: readonly string[], { input = '', onPath = FOLDERS, cwd = project }: Call = {}) {
  const path = [...onPath.map((name) => join(project, name)), process.env.PATH].join(delimiter);
  const env = { PATH: path, HOME: join(place, 'home'), HOTCELL_HOME: join(place, 'data'), NO_COLOR: '1' };
  return spawnSync(program, args, { cwd, env, input, encoding: 'utf8' });
}

/** Runs the code that plants programs, in a sandbox that may write to the project. */
function plantWith(options: Call) {
  const args = [CLI, 'run', '--isolation', 'process', '--mount', `${project}:/project:rw`, '-'];
  return call(process.execPath, args, { ...options, input: plant() });
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

const asJson = onlyWithAll('tried without --json');

describe.skipIf(reason !== undefined)('programs that code in a sandbox places in a project on the search path', () => {
  beforeEach(() => {
    // As a server does that was started with another search path.
    const { stdout, stderr } = plantWith({ onPath: ['.venv/bin'] });
    expect(stdout + stderr).toContain('planted');
  });

  it('are what a shell runs', () => {
    call('/bin/sh', ['-c', 'docker version']);
    expect(readFileSync(ran(), 'utf8')).toContain('.venv/bin/docker');
  });

  it.for(['status', 'doctor', 'doctor --json', 'setup process'])(
    'are not run by `hotcell %s`',
    { timeout: 120_000 },
    (command, context) => {
      // The same looks, told in another way.
      context.skip(command === 'doctor --json' && asJson !== undefined, asJson);
      const { stdout } = call(process.execPath, [CLI, ...command.split(' ')]);
      expect(stdout).not.toBe('');
      expect(existsSync(ran())).toBe(false);
    },
  );
});

describe.skipIf(reason !== undefined)('a project with a folder that Hotcell takes programs from elsewhere', () => {
  it('is not mounted writable, in whichever folder Hotcell is called', { timeout: 120_000 }, () => {
    for (const folder of ['', 'tools']) chmodSync(join(project, folder), 0o755); // now a search elsewhere trusts it
    const folders = [project, join(project, 'tools'), join(place, 'home')];
    for (const cwd of folders.slice(strength({ plain: 1, all: 0 }))) {
      const { stdout, stderr } = plantWith({ onPath: ['tools'], cwd });
      expect(stdout + stderr).toMatch(/project\/tools, which Hotcell itself runs.*\n.*take a folder .* off PATH/);
    }
  });
});
