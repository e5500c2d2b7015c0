import { afterAll, describe, expect, it } from 'vitest';
import { tokenOwner } from '../../src/directory/owner.ts';
import { createProcessDriver } from '../../src/drivers/process/index.ts';
import { type Deferred, deferred } from '../../src/lib/deferred.ts';
import { type HotcellServer, openServer } from '../../src/main.ts';
import type { Sandbox } from '../../src/sandbox/driver.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

/**
 * SECURITY: a program can end its own sandbox, and the next call makes another. A tenant with many sessions would start all of their sandboxes at once, whatever
 * `maxOpenings` says, and the openings of others would time out beside them.
 */
const skipped = await reasonToSkip(TARGETS.shared);
const SESSIONS = 4;

describe.skipIf(skipped !== undefined)('sandboxes that replace lost ones', () => {
  const { home, remove } = makeHome();
  afterAll(remove);

  it('are started within maxOpenings, and no more of one tenant than it may open at once', async () => {
    await using watched = await watchedServer();
    const sessions = await watched.openAll();
    await watched.loseAll();
    watched.starts.most = 0;
    const results = await Promise.all(sessions.map((session) => session.run('1 + 1').result));
    expect(results.map(({ value, restarted }) => [value?.text, restarted !== undefined])).toEqual(
      Array(SESSIONS).fill(['2', true]),
    );
    expect(watched.starts.most).toBe(1);
  });

  it('are not waited for by a session that is closed', async () => {
    await using watched = await watchedServer();
    const [first, second] = await watched.openAll();
    await watched.loseAll();
    watched.starts.gate = deferred<void>();
    const starting = first!.run('1').result;
    await expect.poll(() => watched.starts.now).toBe(1);
    const waiting = second!.run('1').result;
    const reason = expect(waiting).rejects.toMatchObject({ code: 'session_closed' });
    await second!.session.close();
    await reason;
    watched.starts.gate.resolve();
    expect((await starting).value?.text).toBe('1');
  });

  /** A server that counts the sandboxes it starts at once. */
  async function watchedServer() {
    const starts: { now: number; most: number; gate: Deferred<void> | undefined } = {
      now: 0,
      most: 0,
      gate: undefined,
    };
    const made: Sandbox[] = [];
    const server: HotcellServer = await openServer({
      ...{ isolation: 'process', poolSize: 0, preloads: [], dataDir: home, logLevel: 'silent' },
      maxMemoryBytesPerOwner: 1024 ** 4,
      maxOpenings: 2,
      drivers: {
        process: async (host) => {
          const driver = await createProcessDriver(host, { shape: 'shared' });
          const create: typeof driver.create = async (spec, options) => {
            starts.now += 1;
            starts.most = Math.max(starts.most, starts.now);
            try {
              await starts.gate?.promise;
              const sandbox = await driver.create(spec, options);
              made.push(sandbox);
              return sandbox;
            } finally {
              starts.now -= 1;
            }
          };
          return { ...driver, create };
        },
      },
    });
    const mallory = tokenOwner('mallory', server.config);
    return {
      starts,
      openAll: () => Promise.all(Array.from({ length: SESSIONS }, () => server.sessions.open(mallory, {}))),
      loseAll: () => Promise.all(made.map((sandbox) => sandbox.dispose())),
      [Symbol.asyncDispose]: () => server.close(),
    };
  }
});
