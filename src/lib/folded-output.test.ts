import headless from '@xterm/headless';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { threadMs } from '../../test/support/thread-time.ts';
import { createFoldedOutput } from './folded-output.ts';

const LIMITS = { headBytes: 1000, tailBytes: 1000 };

describe('the text left on the screen', () => {
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

  test('a progress bar among other output leaves its last state in place', () => {
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

test('the text does not depend on how it is split into chunks', () => {
  fc.assert(
    fc.property(printed, fc.array(fc.nat(6), { minLength: 1 }), (text, sizes) => {
      expect(fold(cut(Buffer.from(text), sizes)).text()).toBe(fold([Buffer.from(text)]).text());
    }),
    { numRuns: 500 },
  );
});

test('reading the text at any time does not change the final text', () => {
  fc.assert(
    fc.property(printed, fc.array(fc.nat(6), { minLength: 1 }), fc.boolean(), (text, sizes, isBounded) => {
      const limits = isBounded ? { headBytes: 7, tailBytes: 9 } : { headBytes: 100_000, tailBytes: 100_000 };
      const [polled, quiet] = [createFoldedOutput(limits), createFoldedOutput(limits)];
      for (const chunk of cut(Buffer.from(text), sizes)) {
        polled.push(chunk);
        quiet.push(chunk);
        polled.text();
        polled.droppedBytes();
      }
      expect([polled.text(), polled.droppedBytes()]).toEqual([quiet.text(), quiet.droppedBytes()]);
    }),
    { numRuns: 500 },
  );
});

test('the text equals that of a reference screen', () => {
  fc.assert(
    fc.property(printed, (text) => {
      expect(fold([Buffer.from(text)]).text()).toBe(screenOf(text));
    }),
    { numRuns: 500 },
  );
});

const TERMINAL_ROWS = 6;
const count = fc.constantFrom('', '0', '1', '2', '3', '17');
const csi = (...finals: string[]) =>
  fc.tuple(count, fc.constantFrom(...finals)).map(([n, final]) => `\x1b[${n}${final}`);
const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'é', ' '), maxLength: 4 });
const erasing = fc.constantFrom('\x1b[K', '\x1b[0K', '\x1b[1K', '\x1b[2K');
const moving = fc.oneof(fc.constantFrom('\r', '\b', '\b\b'), csi('A', 'C', 'D', 'F', 'G'));

test.each([
  ['moved and erased in lines', fc.oneof(letters, erasing, moving, csi('B', 'E'))],
  // Our page has no lines below the erased part, so that nothing moves down to them.
  ['erased below the cursor', fc.oneof(letters, erasing, moving, fc.constant('\x1b[J'))],
])('xterm shows the same: text that is %s', async (_what, pieces) => {
  const lines = fc.array(letters, { minLength: TERMINAL_ROWS, maxLength: TERMINAL_ROWS });
  await fc.assert(
    fc.asyncProperty(lines, fc.array(pieces, { maxLength: 30 }), async (first, rest) => {
      const text = `${first.join('\n')}${rest.join('')}`;
      expect(rightTrimmed(fold(cut(Buffer.from(text), [40])).text())).toBe(await shownByXterm(text));
    }),
    { numRuns: 300 },
  );
});

test('a line that is erased repeatedly shows the text written since', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(12), fc.boolean()), { maxLength: 20 }), (steps) => {
      const cells = [...'abcdefghijkl'];
      let text = cells.join('');
      for (const [column, blanks] of steps) {
        text += `\x1b[${column + 1}G${blanks ? '\x1b[1K' : 'X'}`;
        if (!blanks) cells[column] = 'X';
        else cells.fill(' ', 0, Math.min(column + 1, cells.length));
      }
      expect(fold([Buffer.from(text)]).text()).toBe(cells.join(''));
    }),
  );
});

test.each([
  ['a line that is longer than a page', 'a'.repeat(70_000), 'x\rb\x1b[31mc\b\x1b[Kd', 'xbcd'],
  ['a line whose beginning is gone', 'a'.repeat(300_000), '\x1b[Ax', 'x'],
])('%s goes on as if the cursor had not been moved', (_what, line, more, shown) => {
  const bytes = Buffer.from(more);
  for (const sizes of [[0], [1, 2], [100]]) {
    const output = createFoldedOutput({ headBytes: 65_536, tailBytes: 65_536 });
    output.push(Buffer.from(line));
    for (const chunk of cut(bytes, sizes)) output.push(chunk);
    output.push(Buffer.from('\nnext\rN'));
    expect(output.text().slice(-shown.length - 8)).toBe(`aaa${shown}\nNext`);
  }
});

test('a flood of any kind is bounded, and its end is kept', () => {
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

async function shownByXterm(text: string): Promise<string> {
  const terminal = new headless.Terminal({
    ...{ cols: 400, rows: TERMINAL_ROWS, convertEol: true, allowProposedApi: true },
  });
  await new Promise<void>((resolve) => terminal.write(text, resolve));
  const lines = Array.from({ length: TERMINAL_ROWS }, (_, row) => terminal.buffer.active.getLine(row));
  terminal.dispose();
  return rightTrimmed(lines.map((line) => line?.translateToString(true)).join('\n'));
}

const rightTrimmed = (text: string) => text.replaceAll(/ +$/gm, '').trimEnd();

/** A reference screen: a grid without any bound. */
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

describe('the tail', () => {
  const piece = fc.constantFrom(
    'a',
    'bc',
    '🐍',
    'é',
    '\n',
    '\r',
    '\b',
    '\x1b[1A',
    '\x1b[K',
    '\x1b[1K',
    '\x1b[3C',
    '\x1b[2D',
  );

  test('is the end of the text, whatever was printed', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 200 }), fc.integer({ min: 1, max: 300 }), (pieces, chars) => {
        const output = createFoldedOutput({ headBytes: 100, tailBytes: 400 });
        for (const text of pieces) output.push(Buffer.from(text));
        const [tail, text] = [output.tail(chars), output.text()];
        expect(text.endsWith(tail.slice(1))).toBe(true); // half of a pair may come first
        expect(tail.length).toBeLessThanOrEqual(chars);
        expect(Buffer.byteLength(tail)).toBeGreaterThanOrEqual(Math.min(text.length, chars / 4 - 4, 100));
      }),
    );
  });

  test.each([
    ['plain lines', 'x\n'.repeat(35_000)],
    ['a long line that is written over in the middle', `${'x'.repeat(60_000)}\x1b[5Dy`],
    ['many lines that the cursor can reach', `${'x'.repeat(100)}\n`.repeat(450).concat('\x1b[3Ay')],
  ])('costs as much after a long output as after a short one: %s', (_what, printed) => {
    const costMs = (text: string) => {
      const output = createFoldedOutput({ headBytes: 65_536, tailBytes: 65_536 });
      output.push(Buffer.from(text.slice(-65_000)));
      const begin = threadMs();
      for (let count = 0; count < 2_000; count += 1) output.tail(300);
      return threadMs() - begin;
    };
    costMs('short\x1b[2Dy'); // warms up
    expect(costMs(printed)).toBeLessThan(20 * costMs(`${'s'.repeat(300)}\x1b[2Dy`) + 50);
  });
});
