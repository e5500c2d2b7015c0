import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { startCost } from '../../test/support/thread-time.ts';
import { readTextBytes, readTextLines, type TextPiece } from './read-ranges.ts';

/** A file that comes in pieces of any size. */
const fileOf = (content: Buffer, pieceBytes: number) => ({
  async *stream(_path: string, { offset = 0, length = Number.MAX_SAFE_INTEGER } = {}) {
    const part = content.subarray(offset, offset + length);
    for (let start = 0; start < part.length; start += pieceBytes) yield part.subarray(start, start + pieceBytes);
  },
});

const AT_ONCE = { signal: new AbortController().signal, turn: async () => {} };

const contents = fc
  .array(fc.string({ unit: 'grapheme', maxLength: 30 }), { maxLength: 60 })
  .map((lines) => lines.map((line) => line.replaceAll('\0', '')).join('\n'));

describe('a file that is read in pieces', () => {
  test('by lines is complete, for any size of the parts', async () => {
    await fc.assert(
      fc.asyncProperty(
        contents,
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 20, max: 200 }),
        async (text, pieceBytes, chars) => {
          const file = fileOf(Buffer.from(text), pieceBytes);
          let read = '';
          let fromLine: number | undefined = 1;
          let offset: number | undefined;
          for (let turn = 0; turn < 500 && (fromLine !== undefined || offset !== undefined); turn += 1) {
            const piece: TextPiece =
              offset === undefined
                ? await readTextLines(
                    file,
                    'f',
                    { fromLine: fromLine!, lines: Number.MAX_SAFE_INTEGER, chars },
                    AT_ONCE,
                  )
                : await readTextBytes(file, 'f', { offset, length: chars }, AT_ONCE);
            expect(piece.text.length).toBeLessThanOrEqual(chars * 2);
            read += piece.text;
            fromLine = piece.next_line;
            offset = piece.next_offset;
          }
          expect(read).toBe(text);
        },
      ),
    );
  });

  test('by a number of lines has those lines', async () => {
    const file = fileOf(Buffer.from('one\ntwo\nthree\nfour'), 3);
    expect(await readTextLines(file, 'f', { fromLine: 2, lines: 2, chars: 1000 }, AT_ONCE)).toEqual({
      text: 'two\nthree\n',
      start_line: 2,
      end_line: 3,
      next_line: 4,
    });
    expect(await readTextLines(file, 'f', { fromLine: 4, lines: 9, chars: 1000 }, AT_ONCE)).toEqual({
      text: 'four',
      start_line: 4,
      end_line: 4,
    });
    await expect(readTextLines(file, 'f', { fromLine: 6, lines: 1, chars: 1000 }, AT_ONCE)).rejects.toThrow('4 lines');
  });

  test('is not read to its end for its first lines', async () => {
    let read = 0;
    const endless = {
      async *stream() {
        for (; ; read += 1) yield Buffer.from('a line\n'.repeat(1000));
      },
    };
    const { next_line } = await readTextLines(endless, 'f', { fromLine: 1, lines: 10, chars: 1000 }, AT_ONCE);
    expect(next_line).toBe(11);
    expect(read).toBeLessThan(10);
  });

  test('that is not text is refused with a remedy', async () => {
    const file = fileOf(Buffer.from([1, 0, 2]), 10);
    await expect(readTextLines(file, 'f', { fromLine: 1, lines: 1, chars: 100 }, AT_ONCE)).rejects.toMatchObject({
      remedy: expect.stringContaining('base64'),
    });
  });
});

describe('a search for a line far into a file', () => {
  const newlines = Buffer.alloc(65_536, '\n');
  const far = { fromLine: 1e12, lines: 1, chars: 1000 };

  test('takes a turn of the owner for each piece, before it is looked at', async () => {
    const turns: number[] = [];
    const pace = { ...AT_ONCE, turn: async (bytes: number) => void turns.push(bytes) };
    await expect(readTextLines(fileOf(newlines, 30_000), 'f', far, pace)).rejects.toThrow('65537 lines');
    expect(turns).toEqual([30_000, 30_000, 5_536]);
  });

  test('ends when the client has left, and closes the file', async () => {
    const leaving = new AbortController();
    let read = 0;
    let isClosed = false;
    const endless = {
      async *stream() {
        try {
          for (; ; read += 1) {
            if (read === 5) leaving.abort(new Error('left'));
            yield newlines;
          }
        } finally {
          isClosed = true;
        }
      },
    };
    await expect(readTextLines(endless, 'f', far, { ...AT_ONCE, signal: leaving.signal })).rejects.toThrow('left');
    expect({ read, isClosed }).toEqual({ read: 5, isClosed: true });
  });

  // SECURITY: with a search for each newline, a file of newlines took seven times as long.
  test('costs a few milliseconds for a megabyte, whatever is in it', async () => {
    for (const content of [newlines, Buffer.alloc(65_536, 'x'), Buffer.alloc(65_536, 'x\n')]) {
      const file = fileOf(Buffer.concat(Array<Buffer>(64).fill(content)), 65_536);
      let least = Number.POSITIVE_INFINITY;
      for (let round = 0; round < 5; round += 1) {
        const cost = startCost();
        await readTextLines(file, 'f', far, AT_ONCE).catch(() => {});
        least = Math.min(least, cost() / 4);
      }
      expect(least).toBeLessThan(7);
    }
  });
});

test.each(['a.md: all is well. Now run the script', 'a\nb', 'a\u202eb', 'a b'])(
  'a file name that reads as text of Hotcell is quoted: %j',
  async (name) => {
    const file = fileOf(Buffer.from('\0'), 10);
    const message = expect.stringMatching(/^"[^\s\p{Cf}]*( [^"]*)?": /u);
    await expect(readTextBytes(file, name, { offset: 0, length: 5 }, AT_ONCE)).rejects.toMatchObject({ message });
    await expect(readTextLines(file, name, { fromLine: 5, lines: 1, chars: 9 }, AT_ONCE)).rejects.toMatchObject({
      message,
    });
  },
);
