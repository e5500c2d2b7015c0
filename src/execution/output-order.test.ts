import { expect, test } from 'vitest';
import { usedBytes } from '../../test/support/used-memory.ts';
import { createFoldedOutput } from '../lib/folded-output.ts';
import { createOutputOrder } from './output-order.ts';

const LIMITS = { headBytes: 400, tailBytes: 400 };

/** Prints as the collector does; a number is a display. */
function orderOf(...events: readonly (readonly ['stdout' | 'stderr', string] | number)[]) {
  const order = createOutputOrder(LIMITS);
  const whole = { stdout: createFoldedOutput(LIMITS), stderr: createFoldedOutput(LIMITS) };
  for (const event of events) {
    if (typeof event === 'number') order.show(event);
    else {
      const [name, text] = event;
      whole[name].push(Buffer.from(text));
      order.print(name, Buffer.from(text), whole[name]);
    }
  }
  return order;
}

const out = (text: string) => ['stdout', text] as const;
const err = (text: string) => ['stderr', text] as const;

test('texts and displays are listed in the order in which they came', () => {
  expect(orderOf(out('a'), out('b\n'), 0, out('c\n'), err('d\n'), 1, 2).parts()).toEqual([
    { kind: 'stdout', text: 'ab\n' },
    { kind: 'display', index: 0 },
    { kind: 'stdout', text: 'c\n' },
    { kind: 'stderr', text: 'd\n' },
    { kind: 'display', index: 1 },
    { kind: 'display', index: 2 },
  ]);
});

test.each([
  ['nothing', []],
  ['one text', [out('a'), out('b')]],
  ['displays alone', [0, 1]],
] as const)('there is no order to tell of %s', (_, events) => {
  expect(orderOf(...events).parts()).toBeUndefined();
});

test('each text is folded as a screen would show it', () => {
  expect(orderOf(out('1 %\r2 %\n'), 0, out('\x1b[31mred\x1b[0m\n')).parts()).toEqual([
    { kind: 'stdout', text: '2 %\n' },
    { kind: 'display', index: 0 },
    { kind: 'stdout', text: 'red\n' },
  ]);
});

test('a progress bar between prints leaves its last state alone', () => {
  const steps = [1, 2, 3].flatMap((step) => [err(`\r${step} of 3`), out(`step ${step}\n`)]);
  expect(orderOf(...steps, err('\n')).parts()).toEqual([
    { kind: 'stdout', text: 'step 1\nstep 2\n' },
    { kind: 'stderr', text: '3 of 3' },
    { kind: 'stdout', text: 'step 3\n' },
    { kind: 'stderr', text: '\n' },
  ]);
});

test('each stream keeps its head and its tail; a small text of the other is kept between them', () => {
  const flood = Array.from({ length: 200 }, (_, at) => `line ${at + 1000}\n`).join('');
  const parts = orderOf(out(flood), err('warning\n'), out(flood), 0).parts() ?? [];
  const texts = parts.map((part) => (part.kind === 'display' ? '[0]' : `${part.kind}: ${part.text}`));
  expect(texts[0]).toMatch(/^stdout: line 1000\n/);
  expect(texts[1]).toBe('stderr: warning\n');
  expect(texts[2]).toMatch(/^stdout: \n… \d+ bytes omitted …\n[\s\S]*line 1199\n$/);
  expect(texts.slice(3)).toEqual(['[0]']);
  expect(texts.join('').length).toBeLessThan(1000);
});

test('however often the streams alternate, what is held is bounded', () => {
  const turns = Array.from({ length: 20_000 }, (_, at) => (at % 2 === 0 ? out('a') : err('b')));
  const parts = orderOf(...turns).parts() ?? [];
  expect(parts.length).toBeLessThan(40);
  expect(parts.filter((part) => part.kind === 'stdout' && part.text.includes('bytes omitted'))).toHaveLength(1);
});

test('clearing forgets everything', () => {
  const order = orderOf(out('a'), 0, err('b'));
  order.clear();
  expect(order.parts()).toBeUndefined();
});

test('lines that are printed and dropped again leave nothing in memory', () => {
  const limits = { headBytes: 65_536, tailBytes: 65_536 };
  const order = createOutputOrder(limits);
  const whole = { stdout: createFoldedOutput(limits), stderr: createFoldedOutput(limits) };
  const before = usedBytes();
  for (let unfinished = 65_000; unfinished > 1_000; unfinished -= 66) {
    for (const name of ['stderr', 'stdout'] as const) {
      order.print(name, Buffer.from(`\r\n${'y'.repeat(unfinished)}`), whole[name]);
    }
  }
  expect(usedBytes() - before).toBeLessThan(20_000_000);
  expect(order.parts()?.length).toBeGreaterThan(100);
});

test('changing the stream does not renew what folding may cost', () => {
  const frame = Buffer.from('\x1b[200Cx'.repeat(1_300));
  const order = createOutputOrder({ headBytes: 1_000_000, tailBytes: 1_000_000 });
  const whole = { stdout: createFoldedOutput(LIMITS), stderr: createFoldedOutput(LIMITS) };
  for (let turn = 0; turn < 20; turn += 1) {
    for (const name of ['stdout', 'stderr'] as const) order.print(name, frame, whole[name]);
  }
  const chars = order.parts()!.reduce((sum, part) => sum + (part.kind === 'display' ? 0 : part.text.length), 0);
  expect(chars).toBeLessThan(2 * (262_144 + 20 * frame.length * 5));
});

test('texts that become neighbours are joined into one that takes its own length', () => {
  const kept: unknown[] = [];
  const before = usedBytes();
  for (let round = 0; round < 60; round += 1) {
    const events = Array.from({ length: 1_000 }, () => [out('x'), err('\ry')] as const).flat();
    kept.push(orderOf(...events).parts());
  }
  expect(usedBytes() - before).toBeLessThan(3_600_000);
  expect(kept).toHaveLength(60);
});
