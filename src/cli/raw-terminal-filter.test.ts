import { describe, expect, it } from 'vitest';
import { createRawTerminalFilter } from './raw-terminal-filter.ts';

function filtered(text: string): string {
  return createRawTerminalFilter().push(text);
}

function endOf(text: string): string {
  const filter = createRawTerminalFilter();
  filter.push(text);
  return filter.end();
}

describe('drawing sequences pass', () => {
  it.each([
    ['text of every script', 'naïve 漢字 👩‍💻 ⠀ \t\r\n\b\x07'],
    ['colours', '\x1b[0;1;38;5;208;48:2::1:2:3mx\x1b[m'],
    ['cursor moves', '\x1b[H\x1b[12;40H\x1b[3A\x1b[K\x1b[1J\x1b[?2K\x1b[5G\x1b[d\x1b[s\x1b[u'],
    ['scrolling', '\x1b[2;20r\x1b[3S\x1b[2T\x1b[1L\x1b[4M\x1bM\x1bD\x1bE'],
    ['the alternate screen', '\x1b[?1049h\x1b[22;1H~\x1b[?1049l'],
    ['modes of keys and of the cursor', '\x1b[?1h\x1b=\x1b[?25l\x1b[?12;25h\x1b[?2004h\x1b[4l\x1b[2 q\x1b7\x1b8'],
    ['lines in the drawing set', '\x1b(0lqk\x1b(B\x0e\x0f'],
    ['resets', '\x1bc\x1b[!p'],
    ['turning the mouse off', '\x1b[?1000l\x1b[?1006l\x1b[?1004l'],
  ])('%s', (_, text) => {
    expect(filtered(text)).toBe(text);
  });
});

it('a line feed without a carriage return moves down, and not to the first column', () => {
  const filter = createRawTerminalFilter();
  expect(['a\nb\r', '\nc\r\x1b[m\n', '\n'].map((piece) => filter.push(piece))).toEqual([
    'a\x1bDb\r',
    '\nc\r\x1b[m\x1bD',
    '\x1bD',
  ]);
});

describe('sequences that command the terminal are dropped', () => {
  it.each([
    ['a title', '\x1b]0;owned\x07'],
    ['a title that ST ends', '\x1b]2;owned\x1b\\'],
    ['the clipboard', '\x1b]52;c;ZWNobyBoaQ==\x07'],
    ['a link', '\x1b]8;;http://x\x07'],
    ['a query of colours', '\x1b]11;?\x07'],
    ['a title of screen and tmux', '\x1bkowned\x1b\\'],
    ['pass-through of tmux', '\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\'],
    ['DECRQSS', '\x1bP$qm\x1b\\'],
    ['a picture', '\x1b_Gf=100;AAAA\x1b\\'],
    ['a private message', '\x1b^x\x1b\\\x1bXx\x1b\\'],
    ['answerback', '\x05'],
    ['device attributes', '\x1b[c\x1b[0c\x1b[>c\x1b[=c\x1bZ'],
    ['device status', '\x1b[5n\x1b[6n\x1b[?6n\x1b[?996n'],
    ['modes that are asked for', '\x1b[?25$p\x1b[4$p'],
    ['reports of the window, its size and its title', '\x1b[18t\x1b[21t\x1b[8;50;100t\x1b[22;0t'],
    ['parameters of the terminal', '\x1b[x'],
    ['checksums of the screen', '\x1b[1;1;1;1;1;1*y'],
    ['a version', '\x1b[>q\x1b[>0q'],
    ['printing', '\x1b[5i\x1b[?5i'],
    ['a locked keyboard and local echo', '\x1b[2h\x1b[12l'],
    ['the mouse and the focus', '\x1b[?1000h\x1b[?1002;1003h\x1b[?1006h\x1b[?1004h\x1b[1;2;3;4;5T'],
    ['the keyboard protocol', '\x1b[?u\x1b[>1u\x1b[=5u\x1b[>4;2m\x1b[?4m'],
    ['saved modes', '\x1b[?1000s\x1b[?1000r'],
    ['132 columns', '\x1b[?3h'],
    ['another encoding', '\x1b%@\x1b G'],
    ['the same with C1', '\x9d0;owned\x07\x9b6n\x90$qm\x9c\x9bc\x9a'],
    ['a sequence with too many characters', `\x1b[${'1;'.repeat(500)}H`],
    ['a number too large', '\x1b[999999999b'],
    ['sequences that are cut short', '\x1b]0;x\x18\x1b[1;\x18\x1b['],
  ])('%s', (_, text) => {
    expect(filtered(text)).toBe('');
    expect(filtered(`a${text}`)).toBe('a');
  });

  it('modes are filtered one by one', () => {
    expect(filtered('\x1b[?1;1000;25h')).toBe('\x1b[?1;25h');
  });

  it('C1 characters come out as their escape sequences', () => {
    expect(filtered('\x9b31mred')).toBe('\x1b[31mred');
  });

  it('a sequence inside of another ends it', () => {
    expect(filtered('\x1b[1\x1b]0;x\x07;2Htext')).toBe(';2Htext');
    expect(filtered('\x1b]0;x\x1b[31mred')).toBe('\x1b[31mred');
  });
});

describe('the end', () => {
  it('restores changed modes, the alternate screen first', () => {
    expect(endOf('\x1b[31m\x1b[?25l\x1b[?2004h\x1b(0\x0e\x1b=\x1b[2;5r\x1b[?1049h\x1b[5 q')).toBe(
      '\x1b[?1049l\x1b[0m\x1b[?25h\x1b[?2004l\x1b(B\x0f\x1b>\x1b7\x1b[r\x1b8\x1b[0 q',
    );
  });

  it('writes nothing if nothing was changed', () => {
    expect(endOf('\x1b[31mred\x1b[0m\x1b[?25l\x1b[?25h\x1b[?1000l\x1b[?1048h\x1b[2;3r\x1b[r')).toBe('');
    expect(endOf('\x1b[?1049h\x1bc')).toBe('');
  });
});
