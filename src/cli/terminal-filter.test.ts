import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTerminalFilter, drawnText, isPictureSequence, ownText, shownText } from './terminal-filter.ts';

const shown = (text: string, colours = true) => {
  const filter = createTerminalFilter({ colours });
  return filter.push(text);
};

describe('text from a sandbox at a terminal', () => {
  it.each<[string, string, string]>([
    ['text, tabs and line ends', 'a\tb\r\nc\rd\be é 日本 🐍', 'a\tb\r\nc\rd\be é 日本 🐍'],
    ['colours', '\x1b[1;31mred\x1b[0m\x1b[38:2::1:2:3mrgb\x1b[m', '\x1b[1;31mred\x1b[0m\x1b[38:2::1:2:3mrgb\x1b[m'],
    ['a title', '\x1b]0;owned\x07a', 'a'],
    ['the clipboard', '\x1b]52;c;Y3VybCBldmls\x1b\\a', 'a'],
    ['questions that the terminal answers by typing', '\x1b[6n\x1b[c\x1b[>0q\x1bP$qm\x1b\\a', 'a'],
    ['moves, erasing, another screen', '\x1b[2J\x1b[H\x1b[3A\x1b[?1049ha\x1b[K', 'a'],
    ['keyboard modes hidden among colours', '\x1b[>4;2m\x1b[?4ma', 'a'],
    ['text turned around', 'a\u202eb\u2066c\u200f\u061c', 'abc'],
    ['characters that take no place', 'a\u200bb\ufeffc\u2060\u2028', 'abc'],
    ['letters and marks that take no place', 'a\u3164b\uffa0\u115fc\u034f\u00ad\u{e0041}\u{e0100}', 'abc'],
    ['a pattern of Braille without dots, as a space', '⣿\u2800⣿', '⣿ ⣿'],
    ['what holds emoji together', '❤\ufe0f👩\u200d🔬', '❤\ufe0f👩\u200d🔬'],
    ['joiners, which make one character of several', '👩\u200d💻 می\u200cخواهم', '👩\u200d💻 می\u200cخواهم'],
    ['8-bit introducers', '\x9b2J\x9d0;t\x9ca', '2J0;ta'],
    ['a bell, shifts and a delete', 'a\x07\x0e\x0f\x7fb\x00', 'ab'],
    ['a reset', '\x1bca', 'a'],
    ['sequences in sequences', '\x1b]0;\x1b[31m\x07a', '\x1b[31ma'],
  ])('%s', (_what, text, expected) => {
    expect(shown(text)).toBe(expected);
  });

  it('has no colours if none are wanted', () => {
    expect(shown('\x1b[31mred\x1b[0m', false)).toBe('red');
    expect(shownText('\x1b[31mred\x1b]0;t\x07')).toBe('red');
  });

  it('ends a colour that it left on', () => {
    const filter = createTerminalFilter({ colours: true });
    filter.push('\x1b[31mred');
    expect(filter.end()).toBe('\x1b[0m');
  });

  it('lets nothing else through, however it is split', () => {
    const unit = fc.constantFrom('\x1b', '[', ']', 'm', '3', ';', '?', '\x07', '\\', 'a', 'H', 'P', '\x9b', '\n', '>');
    fc.assert(
      fc.property(fc.array(fc.string({ unit, maxLength: 6 }), { maxLength: 20 }), (pieces) => {
        const filter = createTerminalFilter({ colours: true });
        const out = pieces.map((piece) => filter.push(piece)).join('');
        expect(out.replace(/\x1b\[[\d;:]*m/g, '')).not.toMatch(/[\x1b\x07\x9b]/);
        expect(out).toBe(shown(pieces.join('')));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('a line of Hotcell at a terminal', () => {
  it('has its own colours, if they are wanted, and ends them', () => {
    expect(ownText('\x1b[31mred\x1b[0m \x1b[1mbold', { colours: true })).toBe('\x1b[31mred\x1b[0m \x1b[1mbold\x1b[0m');
    expect(ownText('\x1b[31mred\x1b[0m')).toBe('red');
    expect(ownText('\x1b[8m\x1b[38;5;1m', { colours: true })).toBe('\\u001b[8m\\u001b[38;5;1m');
  });

  it('keeps line ends and tabs, and shows a carriage return, which would overwrite it', () => {
    expect(ownText('a\tb\r\nc\n')).toBe('a\tb\r\nc\n');
    expect(ownText('a\u3164\u2800\u{e0100}')).toBe('a\\u3164\\u2800\\udb40\\udd00');
    expect(ownText('hotcell: saved\rforged')).toBe('hotcell: saved\\u000dforged');
  });

  it('lets nothing else through, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        expect(ownText(text)).not.toMatch(
          /(?![\r\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u,
        );
        expect(drawnText(text).replace(/\x1b\[\d+[AC]|\r|\x1b\[(J|2K|2J\x1b\[H|\?2004[hl])/g, '')).not.toMatch(
          /\x1b|\x9b/,
        );
      }),
    );
  });

  it('is drawn with the cursor sequences of the editor, and no others', () => {
    const moves = '\x1b[2A\r\x1b[JIn: \x1b[3C\x1b[?2004h\x1b[2K\x1b[2J\x1b[H';
    expect(drawnText(moves)).toBe(moves);
    expect(drawnText('\x1b[6n\x1b[?1049h\x1b]0;t\x07')).toBe('\\u001b[6n\\u001b[?1049h\\u001b]0;t\\u0007');
  });

  it('is not taken for a picture', () => {
    expect(isPictureSequence('\x1b]1337;File=inline=1;size=3:YWJj\x07\n')).toBe(true);
    expect(isPictureSequence('\x1b_Ga=T,f=100,m=1;YWJj\x1b\\\x1b_Gm=0;YWJj\x1b\\\n')).toBe(true);
    expect(isPictureSequence('\x1b]1337;File=inline=1;size=3:YW\x07\x1b]52;c;x\x07')).toBe(false);
  });
});

it.each([
  ['8', ''],
  ['08', ''],
  ['8:1', ''],
  ['8;31', '31'],
  ['31;8;1', '31;1'],
  ['38;5;8', '38;5;8'],
  ['38;2;8;8;8', '38;2;8;8;8'],
  ['48;5;8;8', '48;5;8'],
  ['38;8', ''],
  ['38;5', ''],
  ['38:5:8', '38:5:8'],
  ['', ''],
])('conceals no text, whatever else is in the sequence: %j', (parameters, kept) => {
  const filtered = createTerminalFilter({ colours: true }).push(`a\x1b[${parameters}mb`);
  expect(filtered).toBe(parameters === '' ? 'a\x1b[mb' : kept === '' ? 'ab' : `a\x1b[${kept}mb`);
});
