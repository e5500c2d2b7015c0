import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildOnce } from '../support/built-program.ts';
import { type ChildHotcell, makeHome, startChild } from '../support/child-hotcell.ts';
import { containersOf, filesBelow, jailProcesses } from '../support/host-traces.ts';
import { strength } from '../support/strength.ts';
import { reasonToSkip, TARGETS, type Target } from '../support/targets.ts';

const TURNS: readonly { target: Target; turns: number }[] = [
  { target: TARGETS.shared, turns: strength({ plain: 4, all: 50 }) },
  { target: TARGETS.docker, turns: strength({ plain: 2, all: 8 }) },
];
/** The last server that crashes needs one after it, which clears what it left. */
const CRASH_EVERY = 5;

const skipReasons = new Map<Target, string | undefined>();
for (const { target } of TURNS) skipReasons.set(target, await reasonToSkip(target));

describe.each(TURNS)('two Hotcells of one installation, with $target.name', ({ target, turns }) => {
  const { home, remove } = makeHome();
  const isolation = target.options.isolation!;
  const running = new Set<ChildHotcell>();

  beforeAll(() => buildOnce());

  afterAll(async () => {
    await Promise.all([...running].map((server) => server.kill()));
    remove();
  });

  /** A server with one session that counts. */
  async function start(): Promise<ChildHotcell> {
    const server = await startChild(home, { isolation });
    running.add(server);
    await server.open('counter');
    await server.run('counter', 'count = 0');
    return server;
  }

  async function countOf(server: ChildHotcell): Promise<string | undefined> {
    const { value, restarted } = await server.run('counter', 'count += 1\ncount');
    expect(restarted).toBeUndefined();
    return value;
  }

  it.skipIf(skipReasons.get(target) !== undefined)(
    `start, work and stop ${turns} times in turn, now and then by a crash, and neither loses its session`,
    async () => {
      let older = await start();
      for (let turn = 1; turn <= turns; turn += 1) {
        const younger = await start();
        expect(await countOf(older)).toBe(turn === 1 ? '1' : '3'); // while the other began
        expect(await countOf(younger)).toBe('1');
        if (turn % CRASH_EVERY === 1) await older.kill();
        else await older.stop();
        running.delete(older);
        expect(await countOf(younger)).toBe('2'); // while the other ended
        older = younger;
      }
      await older.stop();
      running.delete(older);
      expect([...filesBelow(`${home}/run`), ...jailProcesses(home)]).toEqual([]);
      if (target.slow === true) expect(containersOf(home)).toEqual([]);
    },
  );
});
