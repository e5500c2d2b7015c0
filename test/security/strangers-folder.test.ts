import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findProgram } from '../../src/lib/find-program.ts';
import { packageRoot } from '../../src/lib/package-root.ts';
import { buildOnce } from '../support/built-program.ts';
import { CLI } from '../support/other-user.ts';

const python = findProgram('python3', '/usr/bin:/usr/local/bin');

/** A project that somebody downloaded, with modules in it that are named like those of Python, and settings for its tools. */
let project: string;
let home: string;
const ran = () => join(home, 'ran');

beforeAll(() => buildOnce());
beforeEach(() => {
  // Below the repository: sandboxes have a /tmp of their own, and no environment is made there.
  const scratch = join(packageRoot(), '.hotcell');
  mkdirSync(scratch, { recursive: true });
  home = mkdtempSync(join(scratch, 'home-'));
  chmodSync(home, 0o755);
  project = join(home, 'project');
  mkdirSync(project);
  for (const module of ['pip', 'venv', 'ensurepip', 'compileall', 'json', 'encodings', 'sitecustomize']) {
    writeFileSync(
      join(project, `${module}.py`),
      `open(${JSON.stringify(ran())}, "a").write(${JSON.stringify(`${module} `)})\n`,
    );
  }
  writeFileSync(join(project, 'uv.toml'), 'this is no TOML, and uv would say so');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function inProject(program: string, args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync(program, args, {
    cwd: project,
    encoding: 'utf8',
    // An index that refuses at once: nothing is to be installed here.
    env: {
      ...{ PATH: process.env.PATH, HOME: home, HOTCELL_HOME: join(home, 'data') },
      ...{
        PIP_INDEX_URL: 'http://127.0.0.1:9/',
        UV_INDEX_URL: 'http://127.0.0.1:9/',
        UV_DEFAULT_INDEX: 'http://127.0.0.1:9/',
      },
    },
  });
}

describe.skipIf(python === undefined)('a folder with modules of a stranger', () => {
  it('runs them in a Python that is started there', () => {
    inProject(python!, ['-m', 'pip', '--version']);
    expect(existsSync(ran())).toBe(true);
  });

  it('runs none of them when `hotcell setup` is', { timeout: 120_000 }, () => {
    const { stdout, stderr } = inProject(process.execPath, [CLI, 'setup', 'process']);
    expect(stdout + stderr).toMatch(/No package index can be reached/);
    expect(stdout + stderr).not.toMatch(/uv\.toml/);
    expect(existsSync(ran())).toBe(false);
  });
});
