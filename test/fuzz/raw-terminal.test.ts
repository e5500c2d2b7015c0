import fc from 'fast-check';
import { expect } from 'vitest';
import { createRawTerminalFilter } from '../../src/cli/raw-terminal-filter.ts';
import { fuzz } from './fuzz.ts';

const PARTS = [
  ...['\x1b', '\x1b[', '\x1b]', '\x1bP', '\x1b_', '\x1b^', '\x1bX', '\x1bk', '\x1b\\', '\x07', '\x18', '\x1a'],
  ...['\x9b', '\x9d', '\x90', '\x9c', '\x9e', '\x9f', '\x9a', '\x05', '\x7f', '\0', '\r', '\n', '\x0e', '\x0f'],
  ...['?', '>', '=', '!', '$', '*', ' ', '"', '#', '(', ';', ':', '0', '1', '6', '25', '1000', '1004', '1049', '2004'],
  ...['c', 'n', 't', 'h', 'l', 'm', 'p', 'q', 'y', 'x', 'i', 'u', 's', 'r', 'H', 'J', 'K', 'Z', 'b', 'T', '52;c;eA=='],
];
const pieces = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...PARTS) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }) },
  ),
  { maxLength: 30 },
);

/** Everything that may come out, said once more in another way than the filter says it. */
const ALLOWED =
  /\x1b(?:\[(?:[\d;:]*m|[\d;]*[@A-MPSXZ`abdefgr]|\d*T|[su]|\?[\d;]*[JKl]|\?(?:1|5|6|7|12|25|47|66|1047|1048|1049|2004|2026|;)+h|(?:4|20|;)+[hl]|!p|[0-6]? q)|[()*+][0A-Z]|#8|[78=>DEHMc])/g;
const FORBIDDEN = /[\x00-\x06\x10-\x1f\x7f-\x9f]/;

fuzz(
  'raw terminal: whatever a program prints, only sequences of the list come out, however the output is cut',
  fc.property(pieces, fc.boolean(), (printed, isCutSmall) => {
    const filter = createRawTerminalFilter();
    const cut = isCutSmall ? printed.join('').split('') : printed;
    const shown = cut.map((piece) => filter.push(piece)).join('');
    const end = filter.end();
    expect((shown + end).replaceAll(ALLOWED, '')).not.toMatch(FORBIDDEN);
    const whole = createRawTerminalFilter();
    expect([whole.push(printed.join('')), whole.end()]).toEqual([shown, end]);
  }),
  5000,
);

fuzz(
  'raw terminal: what comes out goes through unchanged',
  fc.property(pieces, (printed) => {
    const shown = createRawTerminalFilter().push(printed.join(''));
    expect(createRawTerminalFilter().push(shown)).toBe(shown);
  }),
  3000,
);
