import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createJsonParser, parseSmallJson } from './json-parser.ts';

const MiB = 1_048_576;
const parse = createJsonParser();
const large = (text: string, bytes: number) => text.repeat(Math.ceil(bytes / text.length));

test.each([100, MiB / 2, 5 * MiB])('a document of %i bytes is parsed, or refused with the reason', async (bytes) => {
  const document = { text: large('é 1 "quoted"\n', bytes), list: [1, { a: null }] };
  expect(await parse(Buffer.from(JSON.stringify(document)), 'ada')).toEqual({ value: document });
  expect(await parse(Buffer.from(`{"a": "${large('x', bytes)}`), 'ada')).toEqual({ fault: expect.any(String) });
  const members = `{"a": "${large('x', bytes)}", "b": [${large('1,', 30_000)}1]}`;
  expect(await parse(Buffer.from(members), 'ada')).toEqual({ excess: 'more than 10000 members and elements' });
  expect(await parse(Buffer.from(`["${large('x', bytes)}"]`), 'ada')).toHaveProperty('value');
});

test('a large document blocks the main thread for a fraction of its parsing time', async () => {
  const text = `{"a": "${large('AAA ', 40 * MiB)}"}`;
  const [here, aside]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < 3; turn += 1) {
    const data = Buffer.from(text);
    const begin = performance.now();
    JSON.parse(data.toString('utf8'));
    here.push(performance.now() - begin);
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    expect(await parse(data, 'ada')).toHaveProperty('value');
    await setTimeout(20); // the delay is measured when the event loop continues
    delay.disable();
    aside.push(delay.max / 1e6);
  }
  // The machine may be busy: the minimum of each is closest to the true cost.
  expect(Math.min(...aside)).toBeLessThan(Math.max(100, Math.min(...here)));
});

test('a small document is parsed at once, or refused with the reason', () => {
  expect(parseSmallJson(Buffer.from('{"a": ["é"]}'))).toEqual({ value: { a: ['é'] } });
  expect(parseSmallJson(Buffer.from('{"a": '))).toEqual({ fault: expect.any(String) });
  expect(parseSmallJson(Buffer.from('['.repeat(100)))).toEqual({ excess: expect.stringMatching(/more than 64/) });
});

test('of many documents of one owner, one is parsed in a turn of the event loop, and that of another owner among the first', async () => {
  const text = `{"a": "${large('\\\\', MiB - 100)}"}`;
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const turns: number[] = [];
  const crowd = Array.from({ length: 12 }, () =>
    parse(Buffer.from(text), 'mallory').then((parsed) => {
      expect(parsed).toHaveProperty('value');
      turns.push(turn);
    }),
  );
  await parse(Buffer.from(text), 'ada');
  expect(turns.length).toBeLessThan(4);
  await Promise.all(crowd);
  isOver = true;
  expect(new Set(turns).size).toBe(12);
});
