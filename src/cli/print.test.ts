import { describe, expect, it } from 'vitest';
import { durationText, sizeText } from '../lib/units.ts';
import { painterFor, shownName } from './print.ts';

describe('text for people', () => {
  it('shows durations in the unit that reads best', () => {
    expect([0, 12.4, 999, 1400, 59_900, 60_000, 125_000].map(durationText)).toEqual([
      '0 ms',
      '12 ms',
      '999 ms',
      '1.4 s',
      '60 s',
      '1 min',
      '2 min 5 s',
    ]);
  });

  it('shows sizes in the unit that reads best', () => {
    expect([0, 1, 1023, 1024, 3300, 512 * 1024 ** 2, 2 * 1024 ** 3].map(sizeText)).toEqual([
      '0 bytes',
      '1 byte',
      '1023 bytes',
      '1 KiB',
      '3.2 KiB',
      '512 MiB',
      '2 GiB',
    ]);
  });

  it('shows a name from a sandbox without the escape sequences in it', () => {
    expect(shownName('Übersicht 2025/日本.csv')).toBe('Übersicht 2025/日本.csv');
    expect(shownName('\x1b[2Kgone')).toBe('"\\u001b[2Kgone"');
    expect(shownName('two\nlines')).toBe('"two\\nlines"');
    expect(shownName('\u202Efdp.exe')).toBe('"?fdp.exe"');
  });

  it('colours only on a terminal that has colours, unless it is told otherwise', () => {
    const terminal = { isTTY: true, hasColors: () => true };
    expect(painterFor(terminal, {})('red', 'x')).toBe('\x1b[31mx\x1b[0m');
    expect(painterFor({ isTTY: true, hasColors: () => false }, {})('red', 'x')).toBe('x');
    expect(painterFor({}, {})('red', 'x')).toBe('x');
    expect(painterFor(terminal, { NO_COLOR: '1' })('red', 'x')).toBe('x');
    expect(painterFor(terminal, { TERM: 'dumb' })('red', 'x')).toBe('x');
    expect(painterFor({}, { FORCE_COLOR: '1' })('red', 'x')).toBe('\x1b[31mx\x1b[0m');
    expect(painterFor(terminal, { FORCE_COLOR: '0' })('red', 'x')).toBe('x');
  });
});
