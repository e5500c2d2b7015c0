import { expect } from 'vitest';
import type { Requirement } from '../context.ts';

/** As in `guest/hotcell_guest/interpreter/late_flush.py`. */
const DELAY_SECONDS = 0.005;
const LINES_AT_ONCE = 64;
const BUFFER_BYTES = 65_536;

const LINES = 200_000;

/** Prints the lines, then the write system calls that this took and the seconds. */
const FLOOD = `
import time
def writes():
    with open("/proc/self/io") as file:
        return int(dict(line.split(": ") for line in file)["syscw"])
before, begin = writes(), time.monotonic()
for line in range(${LINES}): print("line", line)
made, took = writes() - before, time.monotonic() - begin
print(f"{made} {took}")
`;

export const printingRequirements: readonly Requirement[] = [
  {
    id: 'print:few-writes',
    tag: 'driver',
    title: `${LINES.toLocaleString('en-US')} printed lines take few system calls and come in few frames, all of them`,
    prove: async ({ session }) => {
      const events: string[] = [];
      const run = session.run(FLOOD, { timeoutMs: 120_000 });
      for await (const event of run) if (event.kind === 'stdout') events.push(event.text);
      expect((await run).outcome).toEqual({ kind: 'ok' });
      const printed = events.join('').trimEnd().split('\n');
      const [made, took] = printed.pop()!.split(' ').map(Number) as [number, number];
      expect(printed).toHaveLength(LINES);
      expect(printed.every((line, at) => line === `line ${at}`)).toBe(true);
      // The first lines at once, then a write by the program and one by the thread in each delay, lines at once again
      // for delays that the program slept through, and a full buffer.
      const bytes = printed.join('\n').length;
      const most = 2 * LINES_AT_ONCE + (3 * took) / DELAY_SECONDS + (2 * bytes) / BUFFER_BYTES;
      expect(made).toBeLessThan(most);
      // And never as many that they are most of the cost, whatever the load of the machine.
      expect(made).toBeLessThan(LINES / 10);
      expect(events.length).toBeLessThan(LINES / 10);
    },
  },
  {
    id: 'print:flushed',
    tag: 'guest',
    title: 'lines that are collected leave before stderr and displays, and at the end',
    prove: async ({ session }) => {
      const seen: { kind: string; text: string }[] = [];
      // Many times: a display or a thread that is slow lets the lines leave by themselves.
      const run = session.run(`
import sys
def flood(name):
    for line in range(300): print(name)
for _ in range(20):
    flood("a"); print("err", file=sys.stderr)
    flood("b"); display({"text/plain": "shown"}, raw=True)
flood("c"); print("end", end="")`);
      for await (const event of run) {
        if (event.kind !== 'stdout' && event.kind !== 'stderr' && event.kind !== 'display') continue;
        const text = event.kind === 'display' ? '' : event.text;
        const last = seen.at(-1);
        if (last?.kind === event.kind) last.text += text;
        else seen.push({ kind: event.kind, text });
      }
      const flood = (name: string) => `${name}\n`.repeat(300);
      const round = [
        { kind: 'stdout', text: flood('a') },
        { kind: 'stderr', text: 'err\n' },
        { kind: 'stdout', text: flood('b') },
        { kind: 'display', text: '' },
      ];
      expect(seen).toEqual([...Array(20).fill(round).flat(), { kind: 'stdout', text: `${flood('c')}end` }]);
    },
  },
  {
    id: 'print:live',
    tag: 'driver',
    title: 'a line arrives while the program runs: the last one of a flood, and each one of a slow program at once',
    prove: async ({ session }) => {
      // The program goes on only after its last line has arrived.
      await session.files.remove('go').catch(() => {});
      let printed = '';
      const waiting = session.run(`
import os, time
for line in range(1_000): print(line)
print("waiting")
while not os.path.exists("go"): time.sleep(0.01)
print("went on")`);
      for await (const event of waiting) {
        if (event.kind !== 'stdout') continue;
        printed += event.text;
        if (printed.endsWith('waiting\n')) await session.files.write('go', '');
      }
      expect((await waiting).outcome).toEqual({ kind: 'ok' });
      expect(printed.endsWith('\nwaiting\nwent on\n')).toBe(true);

      const delays: number[] = [];
      const slow = session.run(
        'import time\nfor _ in range(10):\n    print(time.time() * 1000, flush=False)\n    time.sleep(0.1)',
      );
      for await (const event of slow) {
        // A machine that is busy may bring two lines at once.
        const lines = event.kind === 'stdout' ? event.text.trimEnd().split('\n') : [];
        delays.push(...lines.map((line) => Date.now() - Number(line)));
      }
      expect((await slow).outcome).toEqual({ kind: 'ok' });
      // The quickest of them: other work of the machine may delay some, but a line that waited for the next took 100 ms.
      expect(Math.min(...delays)).toBeLessThan(50);
      expect(delays).toHaveLength(10);
    },
  },
];
