import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLineReader } from './message-lines.ts';

function read(chunks: readonly Buffer[], largestBytes = 100) {
  const lines: string[] = [];
  const refused: unknown[] = [];
  const reader = createLineReader(
    (line) => lines.push(line),
    (id) => refused.push(id),
    largestBytes,
  );
  for (const chunk of chunks) reader.push(chunk);
  return { lines, refused };
}

test('however the bytes are cut, the lines are the same', () => {
  const text = 'one\n\nzwölf €\n{"x":1}\nhalf';
  const bytes = Buffer.from(text);
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length)), (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const chunks = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
      expect(read(chunks).lines).toEqual(['one', '', 'zwölf €', '{"x":1}']);
    }),
  );
});

test.each([
  ['at the beginning', '{"jsonrpc":"2.0","id":7,"method":"x","params":"<large>"}', 7],
  ['at the end', '{"method":"x","params":"<large>","jsonrpc":"2.0","id":"a\\"b"}', 'a"b'],
  ['nowhere', '{"method":"x","params":{"id":5,"text":"<large>"},"jsonrpc":"2.0"}', undefined],
])('the id of a line that is too large is found: %s', (_, template, id) => {
  const line = `${template.replace('<large>', 'y'.repeat(5000))}\n{"next":1}\n`;
  for (const size of [1, 17, 10_000]) {
    const chunks = Array.from({ length: Math.ceil(line.length / size) }, (_, index) =>
      Buffer.from(line.slice(index * size, (index + 1) * size)),
    );
    expect(read(chunks)).toEqual({ lines: ['{"next":1}'], refused: [id] });
  }
});
