import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/lib/package-root.ts';
import { buildOnce } from '../support/built-program.ts';
import { talkTo } from '../support/child-hotcell.ts';
import { pathsBelow } from '../support/folders.ts';
import { CLI, reasonNoOtherUsers, runAs, VICTIM } from '../support/other-user.ts';
import { onlyWithAll, strength } from '../support/strength.ts';

const reason = reasonNoOtherUsers();

/** The home of an ordinary user, with a project that Hotcell is installed in. */
let home: string;
let project: string;
let running: ChildProcess[];

beforeAll(() => {
  if (reason === undefined) buildOnce();
});

beforeEach(() => {
  running = [];
  home = mkdtempSync(join(tmpdir(), 'hc-own-'));
  project = join(home, 'project');
  for (const name of ['temporary', 'project/data']) mkdirSync(join(home, name), { recursive: true });
  if (reason !== undefined) return;
  for (const path of [home, ...pathsBelow(home)]) chownSync(path, VICTIM, VICTIM);
  chmodSync(home, 0o755);
});

/** Installs Hotcell in the project, and returns its program. */
function install(): string {
  const copy = join(project, 'node_modules/hotcell');
  mkdirSync(copy, { recursive: true });
  for (const name of ['dist', 'guest', 'images', 'package.json']) {
    const isNeeded = (path: string) => !path.includes('/dist/types');
    cpSync(join(packageRoot(), name), join(copy, name), { recursive: true, filter: isNeeded });
  }
  for (const path of pathsBelow(project)) chownSync(path, VICTIM, VICTIM);
  return join(copy, 'dist/cli.js');
}

afterEach(async () => {
  for (const child of running) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  rmSync(home, { recursive: true, force: true });
});

const environment = () => ({ HOME: home, TMPDIR: join(home, 'temporary'), HOTCELL_PRELOADS: 'json' });

function run(cli: string, mount: string, input: string, more: NodeJS.ProcessEnv = {}) {
  const args = [cli, 'run', '--isolation', 'process', '--json', '--mount', mount, '-'];
  return runAs(VICTIM, args, { env: { ...environment(), ...more }, input });
}

/** A line before every part of Hotcell that is loaded later, which writes a file where no sandbox could. */
const rewrite = () => `
import glob
for path in glob.glob('/project/node_modules/hotcell/dist/**/*.js', recursive=True):
    text = open(path).read()
    shebang, rest = text.split('\\n', 1) if text.startswith('#!') else ('', text)
    open(path, 'w').write(shebang + "\\nimport { writeFileSync as w } from 'node:fs'; w('${join(home, 'outside')}', '');\\n" + rest)
`;

describe.skipIf(reason !== undefined)(
  `code in a sandbox of an ordinary user${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  () => {
    it('runs as the server where it can rewrite a Hotcell, shown with one that another Hotcell mounts', async () => {
      const installed = install();
      const { code } = await run(CLI, `${project}:/project:rw`, rewrite());
      expect(code).toBe(0);
      expect(existsSync(join(home, 'outside'))).toBe(false);
      await runAs(VICTIM, [installed, '--version'], { env: environment() });
      expect(existsSync(join(home, 'outside'))).toBe(true);
    });

    it('gets no writable folder that holds the Hotcell which made it', async () => {
      const installed = install();
      const sources = [project, join(project, 'node_modules'), join(project, 'node_modules/hotcell/dist')];
      for (const source of strength({ plain: [sources[0], sources[2]], all: sources })) {
        const { stdout } = await run(installed, `${source}:/project:rw`, rewrite());
        expect(JSON.parse(stdout).error).toMatchObject({
          code: 'mount_denied',
          message: expect.stringContaining('never mounted writable'),
          remedy: expect.stringMatching(/^Mount it read-only/),
        });
      }
    });

    it('gets it read-only, and a folder beside it writable', async () => {
      const installed = install();
      const shown = await run(installed, `${project}:/project`, 'import os; print(os.listdir("/project"))');
      expect(JSON.parse(shown.stdout)).toMatchObject({ outcome: { kind: 'ok' } });
      const written = await run(
        installed,
        `${join(project, 'data')}:/data:rw`,
        'print(open("/data/x", "w").write("x"))',
      );
      expect(JSON.parse(written.stdout)).toMatchObject({ outcome: { kind: 'ok' } });
    });

    it.for([':rw', ''])('gets no folder that servers listen in, of whatever environment (%j)', async (how, context) => {
      const left = onlyWithAll('not even read-only, which is tried');
      context.skip(how === ':rw' && left !== undefined, left);
      await startServer(environment());
      for (const more of [{}, { XDG_RUNTIME_DIR: join(home, 'xdg') }, { TMPDIR: join(home, 'project/data') }]) {
        const { stdout } = await run(CLI, `${join(home, 'temporary')}:/t${how}`, 'print(1)', more);
        expect(JSON.parse(stdout).error).toMatchObject({ code: 'mount_denied' });
      }
    });

    it('outlives the start of another server with another XDG_RUNTIME_DIR', async () => {
      const { ask } = await startServer({ ...environment(), XDG_RUNTIME_DIR: join(home, 'xdg') });
      await ask('open', 's', {});
      await ask('run', 's', 'work = 42');
      const { code } = await run(CLI, `${join(project, 'data')}:/data`, 'print(1)');
      expect(code).toBe(0);
      expect(await ask('run', 's', 'work')).toMatchObject({ outcome: 'ok', value: '42' });
    });

    it("has no umask of the server's", async () => {
      const { stdout } = await run(CLI, `${join(project, 'data')}:/data:rw`, 'import os; print(oct(os.umask(0)))');
      expect(JSON.parse(stdout)).toMatchObject({ stdout: '0o22\n' });
      const bash = await runAs(VICTIM, [CLI, 'run', '--isolation', 'process', '--language', 'bash', '-'], {
        env: environment(),
        input: 'umask',
      });
      expect(bash.stdout).toBe('0022\n');
    });
  },
);

async function startServer(env: NodeJS.ProcessEnv) {
  const child = fork(join(packageRoot(), 'test/support/hotcell-child.mjs'), {
    ...{ uid: VICTIM, gid: VICTIM, cwd: '/' },
    env: { PATH: process.env.PATH, ...env },
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  running.push(child);
  const orders = talkTo(child);
  await orders.ask('start', { isolation: 'process', poolSize: 0, preloads: [] });
  return orders;
}
