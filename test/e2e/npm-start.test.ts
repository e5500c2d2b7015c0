import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { killIfThere } from '../../src/lib/kill-if-there.ts';
import { descendantsOf, hasEnded, until } from '../support/host-processes.ts';
import { type BuiltHotcell, buildHotcell, root } from './built-hotcell.ts';

let hotcell: BuiltHotcell;
let pids: number[] = [];
beforeAll(async () => {
  hotcell = await buildHotcell();
});
afterAll(() => hotcell.remove());
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});
afterEach(() => {
  for (const pid of pids) killIfThere(pid);
  pids = [];
});

const direct = [process.execPath, 'scripts/start.mjs'];

describe('a server that was started from the clone', () => {
  // npm itself dies of a SIGHUP that is sent to it alone, and tells nobody.
  it.each([
    ['npm start', 'SIGTERM', ['npm', 'start', '--']],
    ['scripts/start.mjs', 'SIGTERM', direct],
    ['scripts/start.mjs', 'SIGHUP', direct],
  ] as const)('ends when a supervisor sends %s %s, with nothing left', async (_, signal, [program, ...args]) => {
    const started = spawn(program, [...args, '--port', '0'], {
      cwd: root,
      env: { ...process.env, HOTCELL_HOME: hotcell.home, HOTCELL_ISOLATION: 'process' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const url = await addressIn(started);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    pids = [started.pid!, ...descendantsOf(started.pid!).map(({ pid }) => pid)];
    started.kill(signal);
    await until(() => pids.every(hasEnded), 'the server and what started it have ended');
    expect(hotcell.leftovers()).toEqual([]);
  });
});

async function addressIn({ stdout }: ChildProcess): Promise<string> {
  const lines = createInterface({ input: stdout! });
  for await (const line of lines) {
    const url = line.match(/http:\/\/127\.0\.0\.1:\d+/)?.[0];
    if (url !== undefined) return url;
  }
  throw new Error('it ended before it served');
}
