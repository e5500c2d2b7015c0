import fc from 'fast-check';
import { expect } from 'vitest';
import { createTerminalFilter } from '../../src/cli/terminal-filter.ts';
import { fuzz } from './fuzz.ts';

const SEQUENCES = [
  '\x1b',
  '\x1b[',
  '\x1b[31m',
  '\x1b[2J',
  '\x1b]52;c;',
  '\x1b]0;',
  '\x07',
  '\x1b\\',
  '\x1bP',
  '\x9b',
  '\x9d',
  '\x9c',
  '\x1b[6n',
  '\x1b[1;2;',
  'm',
  '\u202e',
  '\u2066',
  '\x7f',
  '\r',
  '\n',
  '\b',
  '\t',
  '\0',
];
const pieces = fc.array(
  fc.oneof(fc.constantFrom(...SEQUENCES), fc.string({ unit: 'binary', maxLength: 5 }), fc.string({ maxLength: 5 })),
  { maxLength: 20 },
);
const FORBIDDEN = /[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;
const COLOURS = /\x1b\[[\d;:]*m/g;

fuzz(
  'terminal: whatever a program prints, a terminal is shown text and colours alone, however the output is cut',
  fc.property(pieces, fc.boolean(), (printed, colours) => {
    const filter = createTerminalFilter({ colours });
    const shown = printed.map((piece) => filter.push(piece)).join('') + filter.end();
    expect(colours ? shown.replaceAll(COLOURS, '') : shown).not.toMatch(FORBIDDEN);
    const whole = createTerminalFilter({ colours });
    expect(whole.push(printed.join('')) + whole.end()).toBe(shown);
  }),
  3000,
);
