/** Decides on control sequences one by one, and tracks which modes of the terminal a program has changed. */
export interface ModeTrack {
  control(character: string): void;
  short(character: string): void;
  /** Returns the sequence as it may be written, or an empty string. `before`: parameters and intermediates. */
  csi(before: string, final: string): string;
  /** The same for `ESC ( B` and similar sequences, which select a character set. */
  designate(before: string, final: string): string;
  /** The sequences that restore all changed modes for the user's shell. */
  reset(): string;
}

export function createModeTrack(): ModeTrack {
  /** Restoring sequences, by the mode that was changed. */
  let changed = new Map<string, string>();

  function mark(name: string, isChanged: boolean, undo: string): void {
    if (isChanged) changed.set(name, undo);
    else changed.delete(name);
  }

  function setModes(prefix: '?' | '', numbers: readonly number[], final: 'h' | 'l'): string {
    const table = prefix === '?' ? PRIVATE_MODES : ANSI_MODES;
    const kept = numbers.filter((number) => table.get(number)?.includes(final));
    for (const number of kept) {
      if (number === SAVED_CURSOR) continue;
      const usual = USUALLY_ON.has(`${prefix}${number}`) ? 'h' : 'l';
      mark(`mode ${prefix}${number}`, final !== usual, `\x1b[${prefix}${number}${usual}`);
    }
    return kept.length === 0 ? '' : `\x1b[${prefix}${kept.join(';')}${final}`;
  }

  function allowed(before: string, final: string): boolean {
    if (final === 'm') {
      mark('colours', !/^0*$/.test(before), '\x1b[0m');
      return true;
    }
    if (final === 'r') mark('region', before !== '', '\x1b7\x1b[r\x1b8');
    // With more parameters these track the mouse (T), set margins (s) or change how keys are reported (u).
    if (final === 'T') return !before.includes(';');
    return final === 's' || final === 'u' ? before === '' : FINALS.includes(final);
  }

  return {
    control(character) {
      if (character === '\x0e' || character === '\x0f') mark('shift', character === '\x0e', '\x0f');
    },
    short(character) {
      if (character === 'c') changed = new Map();
      if (character === '=' || character === '>') mark('keypad', character === '=', '\x1b>');
    },
    designate(before, final) {
      if (before === '#') return final === '8' ? '\x1b#8' : '';
      if (!/^[()*+]$/.test(before) || !/^[0A-Z]$/.test(final)) return '';
      mark(`set ${before}`, final !== 'B', `\x1b${before}B`);
      return `\x1b${before}${final}`;
    },
    csi(before, final) {
      const numbers = /^\??[\d;]*$/.test(before) ? before.replace('?', '').split(';').map(Number) : [];
      if (final === 'm' ? !/^[\d;:]*$/.test(before) : numbers.some((number) => number > MOST)) return '';
      if (before.startsWith('?') && numbers.length > 0) {
        if (final === 'h' || final === 'l') return setModes('?', numbers, final);
        return final === 'J' || final === 'K' ? `\x1b[${before}${final}` : '';
      }
      if (before === '!' && final === 'p') return '\x1b[!p';
      if (final === 'q' && /^[0-6]? $/.test(before)) {
        mark('cursor', !/^0? $/.test(before), '\x1b[0 q');
        return `\x1b[${before}q`;
      }
      if (numbers.length === 0 && final !== 'm') return '';
      if (final === 'h' || final === 'l') return setModes('', numbers, final);
      return allowed(before, final) ? `\x1b[${before}${final}` : '';
    },
    reset() {
      // The alternate screen first: the other modes belong to the screen that the user returns to.
      const undone = [...changed.entries()].sort(([a], [b]) => Number(isScreen(b)) - Number(isScreen(a)));
      changed = new Map();
      return undone.map(([, undo]) => undo).join('');
    },
  };
}

/**
 * Final characters of cursor moves, erasing, inserting, deleting, scrolling, repeating, tab stops, the scrolling
 * region, saving the cursor.
 */
const FINALS = '@ABCDEFGHIJKLMPSXZ`abdefgr';

/**
 * SECURITY: limit of a parameter. A short sequence must not make a terminal repeat a character for a minute. No screen
 * is larger.
 */
const MOST = 9_999;

/** Mode that saves the cursor when it is set, and restores it when it is reset. */
const SAVED_CURSOR = 1048;

/** SECURITY: without mode 2, which locks the keyboard, and mode 12, which echoes input. */
const ANSI_MODES: ReadonlyMap<number, string> = new Map([
  [4, 'hl'],
  [20, 'hl'],
]);

/**
 * Cursor keys, reverse video, origin, wrap, blinking, the cursor, the alternate screen in three ways, the keypad,
 * bracketed paste, synchronised output. SECURITY: modes that make a terminal send input by itself (mouse 9, 1000-1016,
 * focus 1004) can only be reset.
 */
const PRIVATE_MODES: ReadonlyMap<number, string> = new Map([
  ...[1, 5, 6, 7, 12, 25, 47, 66, 1047, SAVED_CURSOR, 1049, 2004, 2026].map((mode) => [mode, 'hl'] as const),
  ...[9, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016].map((mode) => [mode, 'l'] as const),
]);

const USUALLY_ON: ReadonlySet<string> = new Set(['?7', '?25']);

function isScreen(name: string): boolean {
  return /^mode \?(?:47|1047|1049)$/.test(name);
}
