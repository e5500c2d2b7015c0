import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildOnce } from '../support/built-program.ts';
import { talkTo } from '../support/child-hotcell.ts';
import { pathsBelow } from '../support/folders.ts';
import { CLI, nextLine, reasonNoOtherUsers, runAs, STRANGER, spawnAs, VICTIM } from '../support/other-user.ts';

const reason = reasonNoOtherUsers();

/** A machine's shared folder, and the home of its one user with nothing in it. */
let shared: string;
let home: string;
let running: ChildProcess[];
const runFolder = () => join(shared, `hotcell-${VICTIM}`);
const victimsEnvironment = () => ({ HOME: home, TMPDIR: shared, HOTCELL_PRELOADS: 'json' });

beforeAll(() => {
  if (reason === undefined) buildOnce();
});

beforeEach(() => {
  shared = mkdtempSync(join(tmpdir(), 'hc-shared-'));
  chmodSync(shared, 0o1777);
  home = mkdtempSync(join(tmpdir(), 'hc-victim-'));
  chmodSync(home, 0o755);
  if (reason === undefined) chownSync(home, VICTIM, VICTIM);
  running = [];
});

afterEach(async () => {
  for (const child of running) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  for (const folder of [shared, home]) rmSync(folder, { recursive: true, force: true });
});

/** Makes the folder first, open to all. When it is told to, it puts aside what appears there, and listens in its place. */
const SQUAT = `
const { mkdirSync, readdirSync, renameSync } = require('node:fs');
const { createServer } = require('node:net');
const [folder] = process.argv.slice(1);
mkdirSync(folder);
console.log('ready');
process.stdin.once('data', () => { const look = setInterval(() => {
  const server = readdirSync(folder).find((name) => !name.endsWith('.aside'));
  if (server === undefined) return;
  clearInterval(look);
  renameSync(folder + '/' + server, folder + '/' + server + '.aside');
  mkdirSync(folder + '/' + server);
  createServer((socket) => socket.end('stranger')).listen(folder + '/' + server + '/control', () => console.log('took ' + server));
}, 5); });
`;

/** How a server made its folders before they were checked: whatever is there is taken. Then a sandbox of its own connects by the path. */
const UNCHECKED_SERVER = `
const { mkdirSync } = require('node:fs');
const { connect, createServer } = require('node:net');
const [folder] = process.argv.slice(1);
mkdirSync(folder + '/server', { recursive: true, mode: 0o711 });
process.stdin.once('data', () => connect(folder + '/server/control').on('data', (text) => { console.log(String(text)); process.exit(); }));
createServer((socket) => socket.end('victim')).listen(folder + '/server/control', () => console.log('listening'));
`;

async function squat(): Promise<ChildProcess> {
  const stranger = spawnAs(STRANGER, ['-e', SQUAT, runFolder()]);
  running.push(stranger);
  expect(await nextLine(stranger)).toBe('ready');
  return stranger;
}

function runCode(input: string) {
  return runAs(VICTIM, [CLI, 'run', '--isolation', 'process', '--json', '-'], { env: victimsEnvironment(), input });
}

describe.skipIf(reason !== undefined)(
  `another local user${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  () => {
    it('who owns the folder of servers takes the place of one that does not look', async () => {
      const stranger = await squat();
      const victim = spawnAs(VICTIM, ['-e', UNCHECKED_SERVER, runFolder()]);
      running.push(victim);
      expect(await nextLine(victim)).toBe('listening');
      stranger.stdin?.write('take\n');
      expect(await nextLine(stranger)).toBe('took server');
      victim.stdin?.write('connect\n');
      expect(await nextLine(victim)).toBe('stranger');
    });

    it('who made the folder of servers first is refused, and gets nothing to take', async () => {
      const stranger = await squat();
      stranger.stdin?.write('take\n');
      const { code, stdout } = await runCode('print(1)');
      expect(code).not.toBe(0);
      expect(JSON.parse(stdout).error).toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining(`${runFolder()} belongs to another user (uid ${STRANGER})`),
        remedy: expect.stringContaining(`sudo rm -r ${runFolder()}`),
      });
      expect(readdirSync(runFolder())).toEqual([]);
    });

    it.each([
      ['a link to a folder of the victim', 'symlinkSync(process.argv[2], process.argv[1])'],
      ['a link to a folder that is not there yet', "symlinkSync(process.argv[2] + '/new', process.argv[1])"],
      ['a file', "writeFileSync(process.argv[1], '')"],
    ])('who puts %s in its place is refused', async (_, action) => {
      mkdirSync(join(home, 'target'));
      chownSync(join(home, 'target'), VICTIM, VICTIM);
      const made = await runAs(STRANGER, ['-e', `require('node:fs').${action}`, runFolder(), join(home, 'target')]);
      expect(made.code).toBe(0);
      const { code, stdout } = await runCode('print(1)');
      expect(code).not.toBe(0);
      expect(JSON.parse(stdout).error.code).toBe('invalid_argument');
      expect(readdirSync(join(home, 'target'))).toEqual([]);
    });

    it('keeps nobody from running code who has no XDG_RUNTIME_DIR', async () => {
      for (let time = 0; time < 2; time += 1) {
        const { code, stdout, stderr } = await runCode('import os; print(os.getuid(), 6 * 7)');
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        expect(JSON.parse(stdout)).toMatchObject({ stdout: '1000 42\n', outcome: { kind: 'ok' } });
        const { uid, mode } = lstatSync(runFolder());
        expect({ uid, mode: mode & 0o7777 }).toEqual({ uid: VICTIM, mode: 0o711 });
      }
    });

    it.each([
      ['an ordinary user', VICTIM],
      ['root', 0],
    ])(
      'reads nothing of a server of %s that is private, and connects to none of its sockets, under any umask',
      async (_, uid) => {
        chownSync(home, uid, uid);
        const data = join(home, 'data');
        const env = { HOME: home, HOTCELL_HOME: data };
        const token = await runAs(uid, [CLI, 'token', 'create', 'somebody'], { env });
        expect(token).toMatchObject({ code: 0, stderr: expect.anything() });
        const server = forkAs(uid, env);
        const { ask } = talkTo(server);
        await ask('start', { isolation: 'process', poolSize: 0, preloads: [] });
        await ask('open', 's', {});
        await ask('run', 's', 'print("private" * 200_000)');

        const paths = pathsBelow(data);
        for (const name of ['tokens', 'logs', 'run', 'layers'])
          expect(paths.some((path) => path.startsWith(`${data}/${name}/`))).toBe(true);
        const sockets = paths.filter((path) => statSync(path).isSocket());
        expect(sockets.map((path) => basename(path).replace(/^[0-9a-f]{12}/, 'id')).sort()).toEqual([
          'control',
          'id.lock',
        ]);
        const looked = await runAs(STRANGER, ['-e', LOOK, ...sockets], { input: JSON.stringify(paths) });
        expect(looked.stderr).toBe('');
        const { readable, writable, connected } = JSON.parse(looked.stdout);
        expect({ writable, connected }).toEqual({ writable: [], connected: sockets.map(() => 'EACCES') });
        // Programs that sandboxes run are no secret: root's sandboxes read them as another user.
        const folders = new Set((readable as string[]).map((path) => path.slice(data.length + 1).split('/')[0]));
        expect([...folders].sort()).toEqual(uid === 0 ? ['covers', 'etc', 'guest'] : []);
        await ask('close');
      },
    );
  },
);

/** Which of the paths on stdin this user can read or write, and what comes of connecting to the sockets in the arguments. */
const LOOK = `
const { accessSync, constants, readFileSync } = require('node:fs');
const { connect } = require('node:net');
const may = (mode) => (path) => { try { accessSync(path, mode); return true; } catch { return false; } };
const tryOne = (path) => new Promise((resolve) => connect(path).on('connect', () => resolve('connected')).on('error', ({ code }) => resolve(code)));
const paths = JSON.parse(readFileSync(0, 'utf8'));
Promise.all(process.argv.slice(1).map(tryOne)).then((connected) => {
  console.log(JSON.stringify({ readable: paths.filter(may(constants.R_OK)), writable: paths.filter(may(constants.W_OK)), connected }));
  process.exit();
});
`;

function forkAs(uid: number, env: NodeJS.ProcessEnv): ChildProcess {
  const child = fork(new URL('../support/hotcell-child.mjs', import.meta.url), {
    env: { PATH: process.env.PATH, ...env },
    execArgv: ['--import', 'data:text/javascript,process.umask(0)'],
    ...{ cwd: '/', uid, gid: uid },
  });
  running.push(child);
  return child;
}
