import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tokenOwner } from '../../src/directory/owner.ts';
import type { HotcellServer, ManagedSession } from '../../src/index.ts';
import { openServer } from '../../src/main.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { createTestMethods } from '../support/test-methods.ts';

const skipped = await reasonToSkip(TARGETS.shared);
const { home, remove } = makeHome();
const CLIENT = 'import threading, time\nfrom hotcell_guest.wire.calling import CallError, call\n';
const SESSIONS = 3;

describe.skipIf(skipped !== undefined)("a tenant's calls to the host", () => {
  const tests = createTestMethods();
  let server: HotcellServer;
  let anna: ManagedSession;

  beforeAll(async () => {
    server = await openServer({
      ...TARGETS.shared.options,
      ...{ poolSize: 0, preloads: [], dataDir: home, logLevel: 'silent', maxExecutions: 20, maxPausedMs: 60_000 },
      methods: tests.methods,
    });
    anna = await server.sessions.open(tokenOwner('anna', server.config), {});
  });
  afterAll(async () => {
    await server?.close();
    remove();
  });

  test('that never end take no more than half of the places, in as many sessions as it likes', async () => {
    const mallory = tokenOwner('mallory', server.config);
    const sessions = await Promise.all(Array.from({ length: SESSIONS }, () => server.sessions.open(mallory, {})));
    const floods = sessions.map((session) =>
      session.run(
        `${CLIENT}for _ in range(150): threading.Thread(target=call, args=("plain-gate", {"name": "never"}), daemon=True).start()\ntime.sleep(600)`,
        { timeoutMs: 600_000 },
      ),
    );
    await expect.poll(() => tests.waiting(), { timeout: 60_000 }).toBe(256);
    expect(await callsOfAnna()).toBe('20');
    expect(tests.waiting()).toBe(256);
    for (const flood of floods) flood.cancel();
    await Promise.all(floods.map(({ result }) => result));
    // Callers that still waited for a place of their sandbox are served now, for the session.
    await Promise.all(sessions.map(({ session }) => session.close()));
    await expect.poll(() => tests.waiting()).toBe(0);
  });

  test('ten thousand of them, as fast as it can, do not delay another by a second', async () => {
    const mallory = await server.sessions.open(tokenOwner('mallory', server.config), {});
    await callsOfAnna();
    const before = await timed(callsOfAnna);
    const flood = mallory.run(
      `${CLIENT}import concurrent.futures as futures\nwith futures.ThreadPoolExecutor(100) as pool:\n    print(sum(pool.map(lambda _: call("echo", 1), range(10_000))))`,
      { timeoutMs: 600_000 },
    );
    const during: number[] = [];
    while (flood.state() !== 'ended') during.push(await timed(callsOfAnna));
    expect(await flood.result).toMatchObject({ outcome: { kind: 'ok' }, stdout: '10000\n' });
    expect(during.length).toBeGreaterThan(1);
    // Each time is that of an execution and of twenty calls.
    during.sort((a, b) => a - b);
    expect(during[Math.floor(during.length / 2)]).toBeLessThan(before + 1_000);
    await mallory.session.close();
  });

  async function callsOfAnna(): Promise<string> {
    const { stdout } = await anna.run(`${CLIENT}print(sum(call("echo", 1) for _ in range(20)))`).result;
    return stdout.trim();
  }
});

async function timed(work: () => Promise<unknown>): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}
