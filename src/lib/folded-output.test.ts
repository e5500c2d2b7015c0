import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFoldedOutput } from './folded-output.ts';

const LIMITS = { headBytes: 1000, tailBytes: 1000 };

describe('what is left on the screen', () => {
  test.each<[string, string, string]>([
    ['plain text', 'a\nb\n', 'a\nb\n'],
    ['a line that was written over', 'one\rtwo', 'two'],
    ['one that was written over in part', 'three\rTW', 'TWree'],
    ['the line ends of another system', 'a\r\nb\r\n', 'a\nb\n'],
    ['a carriage return at the end', 'done\r', 'done'],
    ['backspaces', 'abcd\b\b\bX\b', 'aXcd'],
    ['backspaces beyond the beginning', 'a\b\b\bb', 'b'],
    ['an erased line', 'long text\r\x1b[Kshort', 'short'],
    ['a line erased whole', 'long text\x1b[2K\rshort', 'short'],
    ['a line erased before the cursor', 'abcdef\x1b[3D\x1b[1Kx', '   xef'],
    ['colours', '\x1b[1;31mred\x1b[0m \x1b[38;5;12mblue\x1b[m', 'red blue'],
    ['a title, a link and the clipboard', '\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b]52;c;eA==\x07c', 'abc'],
    ['a device string and a question', 'a\x1bP+q544e\x1b\\b\x1b[6nc\x1b[?25ld', 'abcd'],
    ['the cursor sent to the right', 'a\x1b[3Cb', 'a   b'],
    ['the cursor sent up and down', 'one\ntwo\nthree\x1b[2A\rONE\x1b[1BX', 'ONE\ntwoX\nthree'],
    ['the cursor sent up beyond the beginning', 'a\x1b[9Ab', 'ab'],
    ['characters of several bytes', '日本語\r英', '英本語'],
    ['characters beyond 16 bits', '🐍🐍🐍\r🦊', '🦊🐍🐍'],
    ['what lies below the cursor erased', 'a\nb\nc\x1b[2A\x1b[J\rX', 'X'],
    ['an escape that begins nothing', 'a\x1b\nb', 'a\nb'],
    ['a sequence that never ends', 'a\x1b[31', 'a'],
    ['a title that never ends', `a\x1b]0;${'x'.repeat(5000)}`, `a0;${'x'.repeat(997)}`],
  ])('%s', (_what, printed, shown) => {
    expect(
      fold([Buffer.from(printed)])
        .text()
        .slice(0, 1000),
    ).toBe(shown.slice(0, 1000));
  });

  test('nested progress bars are one line each', () => {
    const output = createFoldedOutput(LIMITS);
    output.push(Buffer.from('start\n'));
    for (let outer = 0; outer <= 3; outer += 1) {
      output.push(Buffer.from(`\router ${outer}/3`));
      for (let inner = 0; inner <= 100; inner += 1) {
        for (const part of ['\n', `\rinner ${inner}/100`, '\x1b[A']) output.push(Buffer.from(part));
      }
    }
    output.push(Buffer.from('\n\n'));
    expect(output.text()).toBe('start\nouter 3/3\ninner 100/100\n');
  });

  test('a bar among other output leaves its last state where it stood', () => {
    const output = createFoldedOutput(LIMITS);
    for (let step = 0; step <= 10_000; step += 1) {
      output.push(Buffer.from(`\r\x1b[K${step / 100}%|${'█'.repeat(step / 1000)}`));
      if (step === 5000) output.push(Buffer.from('\nhalf\n'));
    }
    output.push(Buffer.from('\nend\n'));
    expect(output.text()).toBe('50%|█████\nhalf\n100%|██████████\nend\n');
    expect(output.droppedBytes()).toBe(0);
  });
});

const piece = fc.oneof(
  fc.constantFrom('\r', '\n', '\b', '\r\n', '\x1b[A', '\x1b[2A', '\x1b[B', '\x1b[K', '\x1b[2K', '\x1b[C', '\x1b[2D'),
  fc.constantFrom('\x1b[31m', '\x1b[0m', '\x1b]0;t\x07', '\x1b]0;t\x1b\\', '\x1b[?25h', '\x1b7'),
  fc.string({ unit: fc.constantFrom('a', 'b', 'é', '🐍', ' '), maxLength: 8 }),
);
const printed = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));

test('however it is cut into chunks, the text is the same', () => {
  fc.assert(
    fc.property(printed, fc.array(fc.nat(6), { minLength: 1 }), (text, sizes) => {
      expect(fold(cut(Buffer.from(text), sizes)).text()).toBe(fold([Buffer.from(text)]).text());
    }),
    { numRuns: 500 },
  );
});

test('it is what a screen of any size would show', () => {
  fc.assert(
    fc.property(printed, (text) => {
      expect(fold([Buffer.from(text)]).text()).toBe(screenOf(text));
    }),
    { numRuns: 500 },
  );
});

test('a flood of any kind is bounded, and its end is there', () => {
  for (const unit of [
    'x',
    'x\r',
    'x\b',
    '\n',
    'x\r\n',
    '\x1b[A',
    '\x1b[999B',
    '\x1b[999Cx',
    '\x1b[31mx',
    'x\x1b[A\n',
  ]) {
    const output = createFoldedOutput(LIMITS);
    const chunk = Buffer.from(unit.repeat(Math.ceil(20_000 / unit.length)));
    for (let turn = 0; turn < 20; turn += 1) output.push(chunk);
    output.push(Buffer.from('\nend'));
    expect(output.text().length, unit).toBeLessThan(2100);
    expect(output.text().endsWith('end'), unit).toBe(true);
  }
});

function fold(chunks: readonly Buffer[]) {
  const output = createFoldedOutput({ headBytes: 100_000, tailBytes: 100_000 });
  for (const chunk of chunks) output.push(chunk);
  return output;
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = 1 + (sizes[turn % sizes.length] as number);
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

/** The plainest screen there could be: a grid that remembers everything. */
function screenOf(text: string): string {
  const rows: string[][] = [[]];
  let [row, column] = [0, 0];
  for (const [token] of text.matchAll(/\x1b\[\??\d*[A-Za-z]|\x1b\]0;t(?:\x07|\x1b\\)|\x1b7|./gsu)) {
    const count = Number(/\d+/.exec(token)?.[0] ?? 1);
    const line = rows[row] as string[];
    if (token === '\r') column = 0;
    else if (token === '\b') column = Math.max(0, column - 1);
    else if (token === '\n') [row, column] = [row + 1, 0];
    else if (/^\x1b\[\d*A$/.test(token)) row = Math.max(0, row - count);
    else if (/^\x1b\[\d*B$/.test(token)) row = Math.min(rows.length - 1, row + count);
    else if (/^\x1b\[\d*C$/.test(token)) column += count;
    else if (/^\x1b\[\d*D$/.test(token)) column = Math.max(0, column - count);
    else if (/^\x1b\[2K$/.test(token)) line.length = 0;
    else if (/^\x1b\[K$/.test(token)) line.length = Math.min(line.length, column);
    else if (!token.startsWith('\x1b')) {
      while (line.length < column) line.push(' ');
      line[column] = token;
      column += 1;
    }
    while (rows.length <= row) rows.push([]);
  }
  return rows.map((line) => line.join('')).join('\n');
}
