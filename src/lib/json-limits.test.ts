import fc from 'fast-check';
import { expect, test } from 'vitest';
import { threadMs } from '../../test/support/thread-time.ts';
import { createEventScan, createJsonScan, excessIn, measureJson } from './json-limits.ts';

const limits = { members: 5, levels: 3 };

test.each([
  ['{"a":1,"b":[1,2]}', undefined],
  ['[1,2,3,4,5]', undefined],
  ['[1,2,3,4,5,6]', 'more than 5 members and elements'],
  ['{"a":{},"b":{},"c":{}}', 'more than 5 members and elements'],
  ['[[[1]]]', undefined],
  ['[[[[1]]]]', 'more than 3 objects and lists inside each other'],
  ['["[[[[[,,,,,,", "\\\\", "\\"[[[[,,,,"]', undefined],
  ['["never ends [[[[,,,,,,,\\"', undefined],
])('%s', (text, excess) => {
  expect(excessIn(text, limits)).toBe(excess);
});

test.each([
  ['{"a":1,"b:":{"c":":"}}', undefined],
  ['[{"a":1},{"a":1},{"a":1},{"a":1}]', 'more than 3 names of members'],
])('%s, with few names', (text, excess) => {
  expect(excessIn(text, { members: 100, names: 3, levels: 3 })).toBe(excess);
});

test('the memory of a parsed value grows with its lists, objects and names, not with its text', () => {
  const bytes = (text: string) => measureJson(text, { members: 100, levels: 9 }).structureBytes;
  expect(bytes(`"${'x'.repeat(1_000)}[{,:"`)).toBe(0);
  expect(bytes('[0,0,0]')).toBeLessThan(bytes('[[],[]]'));
  expect(bytes('[{},{}]')).toBeLessThan(bytes('[{"a":0}]'));
});

function members(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Object.values(value);
  return Math.max(own.length, 1) + own.reduce((sum: number, inner) => sum + members(inner), 0);
}

test('the content of strings does not change the counts', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const there = members(value);
      const text = JSON.stringify(value);
      expect(excessIn(text, { members: there, levels: 100 })).toBeUndefined();
      if (there > 0) expect(excessIn(text, { members: there - 1, levels: 100 })).toBeDefined();
    }),
  );
});

test.each([
  ['a string of quotes', `"${'\\"'.repeat(2_000_000)}"`],
  ['a string of backslashes', `"${'\\\\'.repeat(2_000_000)}"`],
  ['quotes alone', '"'.repeat(4_000_000)],
])('it looks at each character once: %s', (_, text) => {
  const begin = threadMs();
  expect(excessIn(text)).toBeUndefined();
  expect(threadMs() - begin).toBeLessThan(2_000);
});

test('text in pieces is counted like the whole text', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 7 }), (value, size) => {
      const bytes = Buffer.from(JSON.stringify(value));
      const scan = createJsonScan({ members: 3, levels: 2 });
      let found: string | undefined;
      for (let at = 0; at < bytes.length; at += size) found ??= scan(bytes.toString('latin1', at, at + size));
      expect(found).toBe(excessIn(JSON.stringify(value), { members: 3, levels: 2 }));
    }),
  );
});

test.each(['\n', '\r', '\r\n'])(
  'a quotation mark or brackets in a comment or another field hide nothing of an event: %j',
  (end) => {
    const scan = createEventScan(limits);
    expect(scan(`: "\\${end}: ]]]]${end}data: [[[`)).toBeUndefined();
    expect(scan(`${end}: ]]]]${end}: "${end}event: ]]]${end}]]]${end}da: ]]]${end}dat`)).toBeUndefined();
    expect(scan('a: [')).toBe('more than 3 objects and lists inside each other');
  },
);

test('a stream of many shallow events is accepted', () => {
  const scan = createEventScan({ ...limits, members: 9 });
  for (let event = 0; event < 3; event += 1) expect(scan('event: message\ndata: [[[]]]\n\n')).toBeUndefined();
});
