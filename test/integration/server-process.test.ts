import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ServerOptions } from '../../src/main.ts';
import { buildOnce } from '../support/built-program.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { type ChildServer, startServer } from '../support/child-server.ts';
import { until } from '../support/host-processes.ts';
import { expectTraces, filesBelow, hostTraces, jailProcesses } from '../support/host-traces.ts';
import { onlyWithAll } from '../support/strength.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skip = await reasonToSkip(TARGETS.shared);
const { home, remove } = makeHome();
const running = new Set<ChildServer>();

beforeAll(() => buildOnce());
afterEach(async () => {
  await Promise.all([...running].map((server) => server.end('SIGKILL')));
  running.clear();
});
afterAll(remove);

async function start(options: ServerOptions = {}): Promise<ChildServer> {
  const server = await startServer(home, { isolation: 'process', ...options });
  running.add(server);
  return server;
}

const logs = () => filesBelow(join(home, 'logs')).filter((name) => name.endsWith('.log'));

/** Prints until it has a log, with a child of its own beside it. */
const BUSY = `import os, time
if os.fork() == 0:
    time.sleep(600)
print("x" * 400000, flush=True)
time.sleep(600)`;

const STATES: readonly { state: string; options?: ServerOptions; reach(server: ChildServer): Promise<void> }[] = [
  { state: 'before its first call', reach: async () => {} },
  {
    state: 'while openings of several owners wait',
    options: { maxOpenings: 1 },
    reach: async (server) => {
      await Promise.all(['ada', 'bob', 'carl'].map((owner) => server.begin('use', owner)));
    },
  },
  {
    state: 'with sessions and a filled pool',
    options: { poolSize: 1 },
    reach: async (server) => {
      await Promise.all([server.use('ada'), server.use('bob')]);
      await server.settled();
    },
  },
  {
    state: 'in the middle of an execution, with others waiting',
    options: { maxExecutions: 1 },
    reach: async (server) => {
      await server.use('ada');
      await server.use('bob');
      await server.begin('run', 'ada', null, BUSY);
      await until(() => logs().length > 0, 'it has a log');
      await server.begin('run', 'ada', null, '1');
      await server.begin('run', 'bob', null, '1');
    },
  },
  {
    state: 'while it closes a busy session',
    reach: async (server) => {
      await server.use('ada');
      await server.begin('run', 'ada', null, BUSY);
      await until(() => logs().length > 0, 'it has a log');
      await server.begin('closeSession', 'ada', 'default');
    },
  },
  {
    state: 'while it shuts down',
    reach: async (server) => {
      await Promise.all([server.use('ada'), server.use('bob')]);
      await server.begin('close');
    },
  },
];

/** `nothing-left.test.ts` kills a Hotcell in the other states, beside another one too. */
const OF_SERVERS = [
  ...['while openings of several owners wait', 'in the middle of an execution, with others waiting'],
  'while it shuts down',
];
const leftToHotcells = onlyWithAll('tried with a Hotcell that is no server');

describe.skipIf(skip !== undefined)('a server beside another of its installation', () => {
  it.for(STATES)(
    'that is killed $state leaves what the next one clears, and the other goes on',
    async (given, context) => {
      context.skip(leftToHotcells !== undefined && !OF_SERVERS.includes(given.state), leftToHotcells);
      const neighbour = await start();
      await neighbour.run('ada', undefined, 'kept = 41');
      const others = new Set(jailProcesses(home));
      const before = hostTraces(home);

      const server = await start(given.options);
      await given.reach(server);
      await server.end('SIGKILL');
      await until(() => jailProcesses(home).every((pid) => others.has(pid)), 'its sandboxes are gone by themselves');

      const next = await start();
      await next.use('ada');
      expect(await next.end('SIGTERM')).toBe(0);
      await expectTraces(home, before);
      expect(await neighbour.run('ada', undefined, 'kept + 1')).toEqual({ outcome: 'ok', value: '42' });
      expect(await neighbour.end('SIGTERM')).toBe(0);
    },
  );

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'that gets %s in the middle of its work leaves nothing at once',
    async (signal) => {
      const before = hostTraces(home);
      const server = await start({ poolSize: 1 });
      await server.use('ada');
      await server.begin('run', 'ada', null, BUSY);
      await server.begin('run', 'ada', null, '1');
      await server.begin('use', 'bob');
      await until(() => logs().length > 0, 'it has a log');
      expect(await server.end(signal)).toBe(0);
      await expectTraces(home, before);
    },
  );

  it('tells of itself as it is built: a log, metrics, the audit log', async () => {
    const logFile = join(home, 'server.log');
    const server = await start({ logLevel: 'info', logFile, metrics: true });
    await server.run('ada', undefined, '1');
    await server.log('hello');
    expect(await server.metrics()).toContain('hotcell_sessions_opened_total{driver="process"} 1');
    expect(await server.end('SIGTERM')).toBe(0);
    expect(JSON.parse(readFileSync(logFile, 'utf8'))).toMatchObject({ level: 'info', msg: 'hello' });
    expect(readFileSync(join(home, 'audit', 'audit.jsonl'), 'utf8')).toContain('"outcome":"shutdown"');
  });
});
