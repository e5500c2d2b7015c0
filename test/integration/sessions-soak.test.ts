import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { tokenOwner } from '../../src/directory/owner.ts';
import { type HotcellServer, openServer } from '../../src/main.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { jailProcesses } from '../support/host-traces.ts';
import { createRandom, type Random } from '../support/random.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skip = await reasonToSkip(TARGETS.shared);
const { home, remove } = makeHome();
afterAll(remove);

const SECONDS = 8;
/** Told with a failure: the same one leads to the same calls. */
const SEED = Number(process.env.HOTCELL_TEST_SEED ?? randomInt(1_000_000));
const LONGEST_CALL_MS = 15_000;
const CODE = [
  '1 + 1',
  'import time; time.sleep(0.2)',
  'while True: pass',
  'print("x" * 300000)',
  'raise ValueError(1)',
  'import os; os._exit(3)',
  'open("f", "w").write("x" * 100000)',
];
const REFUSALS = new Set([
  ...['session_not_found', 'session_exists', 'session_closed', 'session_busy'],
  ...['too_many_sessions', 'too_many_executions', 'cancelled'],
]);

/** Waits for a call: it ends in time, well or with one of the refusals. */
async function settled<T>(call: PromiseLike<T>): Promise<T | undefined> {
  const late = sleep(LONGEST_CALL_MS, 'late' as const, { ref: false });
  const ended = await Promise.race([
    Promise.resolve(call).then(
      (value) => ({ value }),
      (error) => ({ error }),
    ),
    late,
  ]);
  if (ended === 'late') throw new Error(`a call did not end (seed ${SEED})`);
  if ('value' in ended) return ended.value;
  expect(REFUSALS, `${ended.error} (seed ${SEED})`).toContain(ended.error.code);
  return undefined;
}

async function workAtRandom(server: HotcellServer, until: number, random: Random): Promise<void> {
  const pick = <T>(items: readonly T[]): T => items[random(items.length)]!;
  const owners = ['ada', 'bob', 'carl'].map((id) => tokenOwner(id, server.config, { sessions: 4 }));
  while (Date.now() < until) {
    await sleep(random(20));
    const owner = pick(owners);
    const id = pick([undefined, undefined, 'one', 'two']);
    const call = new AbortController();
    if (random(10) < 3) setTimeout(() => call.abort(), random(100));
    const deed = pick(['open', 'close', 'run', 'run', 'run', 'iterate', 'copy']);
    if (deed === 'open') {
      await settled(
        server.sessions.open(owner, id === undefined ? { maxAgeMs: 500 } : { id }, { signal: call.signal }),
      );
      continue;
    }
    if (deed === 'close') {
      await settled(server.sessions.close(owner, id ?? 'default'));
      continue;
    }
    const session = await settled(server.sessions.use(owner, id, { signal: call.signal }));
    if (session === undefined) continue;
    if (deed === 'copy') {
      await settled(session.session.files.write('copy', Buffer.alloc(200_000)));
      continue;
    }
    const busy = pick(['wait', 'refuse'] as const);
    const execution = session.run(pick(CODE), { timeoutMs: 500, signal: call.signal, busy });
    if (deed === 'iterate') await settled(execution.events()[Symbol.asyncIterator]().next());
    else if (random(10) < 6) await settled(execution.result);
  }
}

it.skipIf(skip !== undefined)(
  'whatever several owners do at once, every call ends with a value or a code, and nothing is left',
  async () => {
    const server = await openServer({
      ...{ isolation: 'process', dataDir: home, preloads: [], poolSize: 1, logLevel: 'silent' },
      ...{ maxSessions: 6, maxOpenings: 2, maxExecutions: 3, maxPendingExecutions: 6, keptExecutions: 3 },
      ...{ sessionIdleMs: 400, sessionMaxAgeMs: 3000 },
    });
    const until = Date.now() + SECONDS * 1000;
    await Promise.all(
      Array.from({ length: 8 }, (_, worker) => workAtRandom(server, until, createRandom(SEED + worker))),
    );
    await expect.poll(() => server.sessions.census()).toEqual([]);
    await server.close();
    expect(jailProcesses(home)).toEqual([]);
  },
);
