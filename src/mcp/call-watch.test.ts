import { expect, test } from 'vitest';
import { sizeOf } from './call-watch.ts';

const text = 'x'.repeat(100_000);

test.each([
  ['a text', { content: [{ type: 'text', text }] }],
  ['a text and its data', { content: [{ type: 'text', text }], structuredContent: { stdout: text, exit_code: 0 } }],
  ['an embedded resource', { content: [{ type: 'resource', resource: { uri: 'a:b', blob: text } }] }],
  ['a resource', { contents: [{ uri: 'a:b', text }] }],
  [
    'many small members',
    { structuredContent: { files: Array.from({ length: 10_000 }, (_, at) => ({ at, isNew: true })) } },
  ],
])('the size of an answer is about that of its JSON: %s', (_, answer) => {
  const { length } = JSON.stringify(answer);
  expect(sizeOf(answer)).toBeGreaterThan(length * 0.8);
  expect(sizeOf(answer)).toBeLessThan(length * 1.2);
});

test('no answer has no size', () => {
  expect([undefined, null, 1, {}].map(sizeOf)).toEqual([0, 0, 0, 0]);
});
