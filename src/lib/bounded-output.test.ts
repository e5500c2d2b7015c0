import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBoundedOutput } from './bounded-output.ts';

const chunks = fc.array(
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  { maxLength: 30 },
);
const limits = fc.record({ headBytes: fc.nat(100), tailBytes: fc.nat(100) });

test('never holds more than head, tail and one chunk', () => {
  fc.assert(
    fc.property(chunks, limits, (pieces, limit) => {
      const output = createBoundedOutput(limit);
      const most = limit.headBytes + limit.tailBytes + Math.max(0, ...pieces.map(({ length }) => length));
      for (const piece of pieces) {
        output.push(piece);
        expect(output.heldBytes()).toBeLessThanOrEqual(most);
      }
    }),
  );
});

test('keeps the exact text when nothing was dropped', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 10 })), (texts) => {
      const output = createBoundedOutput({ headBytes: 60, tailBytes: 100_000 });
      for (const text of texts) output.push(Buffer.from(text));
      expect(output.text()).toBe(texts.join(''));
      expect(output.droppedBytes()).toBe(0);
    }),
  );
});

test('keeps the head and the tail, and counts the dropped bytes exactly', () => {
  fc.assert(
    fc.property(chunks, limits, (pieces, limit) => {
      const output = createBoundedOutput(limit);
      for (const piece of pieces) output.push(Buffer.from(piece.map((byte) => 97 + (byte % 26))));
      const whole = Buffer.concat(pieces)
        .map((byte) => 97 + (byte % 26))
        .toString();
      const dropped = Math.max(0, whole.length - limit.headBytes - limit.tailBytes);
      expect(output.totalBytes()).toBe(whole.length);
      expect(output.droppedBytes()).toBe(dropped);
      const head = whole.slice(0, limit.headBytes);
      const tail = limit.tailBytes === 0 ? '' : whole.slice(-limit.tailBytes);
      expect(output.text()).toBe(dropped === 0 ? whole : `${head}\n… ${dropped} bytes omitted …\n${tail}`);
    }),
  );
});

test('counts the line ends that were dropped exactly, also after a line was taken back', () => {
  fc.assert(
    fc.property(chunks, limits, fc.boolean(), (pieces, limit, takes) => {
      const output = createBoundedOutput(limit);
      const lineEnds = (text: string) => text.split('\n').length - 1;
      let whole = '';
      for (const piece of pieces) {
        const text = Array.from(piece, (byte) => 'ab\n'[byte % 3]).join('');
        output.push(Buffer.from(text));
        whole += text;
        const line = takes ? output.takeLine({ ended: true, maxBytes: 1000 }) : undefined;
        if (line !== undefined) whole = whole.slice(0, -(line.length + 1));
      }
      const dropped = output.droppedBytes();
      const tailBytes = output.heldBytes() - Math.min(limit.headBytes, whole.length);
      const middle = dropped === 0 ? '' : whole.slice(limit.headBytes, whole.length - tailBytes);
      expect(output.droppedLines()).toBe(lineEnds(middle));
    }),
  );
});

test('does not keep the buffer alive that a chunk is a slice of', () => {
  const output = createBoundedOutput({ headBytes: 10, tailBytes: 10 });
  const chunk = Buffer.from('0123456789abcdefghijklmnopqrst');
  output.push(chunk);
  chunk.fill('!');
  expect(output.text()).toBe('0123456789\n… 10 bytes omitted …\nklmnopqrst');
});

test('a character split across two chunks is decoded', () => {
  const output = createBoundedOutput({ headBytes: 3, tailBytes: 10 });
  const bytes = Buffer.from('a🐍b');
  output.push(bytes.subarray(0, 2));
  output.push(bytes.subarray(2));
  expect(output.text()).toBe('a🐍b');
});

test('a million single bytes cost no more than their tail', () => {
  const output = createBoundedOutput({ headBytes: 100, tailBytes: 1000 });
  const byte = Buffer.from('x');
  for (let index = 0; index < 200_000; index++) output.push(byte);
  expect(output.heldBytes()).toBeLessThanOrEqual(1101);
  expect(output.droppedBytes()).toBe(198_900);
});

test('the text with `more` equals the text after `more` was pushed', () => {
  fc.assert(
    fc.property(chunks, limits, fc.uint8Array({ maxLength: 300 }), (pieces, limit, bytes) => {
      const output = createBoundedOutput(limit);
      for (const piece of pieces) output.push(piece);
      const more = Buffer.from(bytes);
      const before = [output.text(more), output.droppedBytes(more)];
      output.push(more);
      expect(before).toEqual([output.text(), output.droppedBytes()]);
    }),
  );
});
