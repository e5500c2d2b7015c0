import { expect } from 'vitest';
import type { Session } from '../../../src/index.ts';
import { type Requirement, stdoutOf } from '../context.ts';

const DEFINE = 'import asyncio\nasync def f(x=1):\n    await asyncio.sleep(0.001)\n    return x';

/** What notebooks do with asyncio: one event loop for the session, in which tasks outlive their cell. */
export const asyncioRequirements: readonly Requirement[] = [
  {
    id: 'asyncio:cell',
    tag: 'guest',
    title: 'a cell can await on its last line what it made before',
    prove: async ({ fresh }) => {
      const session = await fresh();
      expect(await textOfValue(session, `${DEFINE}\nt = asyncio.create_task(f(2))\nawait t`)).toBe('2');
      expect(await stdoutOf(session, 't = asyncio.create_task(f(3))\nprint(await t)')).toBe('3');
      expect(await textOfValue(session, 'g = asyncio.gather(f(4), f(5))\nawait g')).toBe('[4, 5]');
      for (const loop of ['get_event_loop', 'get_running_loop']) {
        const code = `loop = asyncio.${loop}()\nawait loop.run_in_executor(None, lambda: 6)`;
        expect(await textOfValue(session, code)).toBe('6');
      }
    },
  },
  {
    id: 'asyncio:across-cells',
    tag: 'guest',
    title: 'tasks and futures can be awaited in a later cell, and go on while any cell awaits',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await stdoutOf(session, DEFINE);
      for (const make of ['asyncio.ensure_future(f(7))', 'asyncio.create_task(f(7))', 'asyncio.gather(f(7))']) {
        expect((await session.run(`task = ${make}`)).outcome).toEqual({ kind: 'ok' });
        expect(await stdoutOf(session, 'print(await task)')).toMatch(/^\[?7\]?$/);
      }
      expect(await stdoutOf(session, 'async def say(): print("begun")\nt = asyncio.create_task(say())')).toBe('begun');
      await stdoutOf(
        session,
        'ticks = 0\nasync def tick():\n    global ticks\n    while True:\n        ticks += 1\n        await asyncio.sleep(0.001)\nt = asyncio.create_task(tick())',
      );
      expect((await session.run('while ticks < 10: await asyncio.sleep(0.001)')).outcome).toEqual({ kind: 'ok' });
    },
  },
  {
    id: 'asyncio:run',
    tag: 'guest',
    title: 'asyncio.run() and loops of the program work in every cell, also beside await',
    prove: async ({ fresh }) => {
      const session = await fresh();
      expect(await textOfValue(session, `${DEFINE}\nasyncio.run(f(2))`)).toBe('2');
      expect(await textOfValue(session, 'x = asyncio.run(f(3))\nx + await f(4)')).toBe('7');
      expect(await textOfValue(session, 'asyncio.get_event_loop().run_until_complete(f(5))')).toBe('5');
      expect(await textOfValue(session, 'loop = asyncio.new_event_loop()\nloop.run_until_complete(f(6))')).toBe('6');
      const process = 'p = await asyncio.create_subprocess_exec("true")\nawait p.wait()';
      expect(await textOfValue(session, process)).toBe('0');
      expect(await textOfValue(session, 'await f(8)')).toBe('8');
    },
  },
  {
    id: 'asyncio:interrupted',
    tag: 'guest',
    title: 'a cell that awaits ends at its time limit and when cancelled, and background tasks live on',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await stdoutOf(
        session,
        `${DEFINE}\ncleaned = []\nasync def long():\n    try:\n        print("begun")\n        await asyncio.sleep(60)\n    finally:\n        cleaned.append(1)\nt = asyncio.create_task(f(9))\nforever = asyncio.create_task(long())`,
      );
      const late = await session.run('await long()', { timeoutMs: 300 });
      expect(late).toMatchObject({ outcome: { kind: 'timed-out' }, state: 'kept' });
      const controller = new AbortController();
      const running = session.run('await long()', { signal: controller.signal });
      for await (const event of running) if (event.kind === 'stdout') controller.abort();
      expect((await running).outcome).toEqual({ kind: 'interrupted' });
      expect(await textOfValue(session, 'await t, len(cleaned), forever.done()')).toBe('(9, 2, False)');
    },
  },
];

async function textOfValue(session: Session, code: string): Promise<string | undefined> {
  const result = await session.run(code, { timeoutMs: 30_000 });
  expect(result.outcome, code).toEqual({ kind: 'ok' });
  expect(result.stderr).toBe('');
  return result.value?.text;
}
