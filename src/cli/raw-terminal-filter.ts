import type { TerminalFilter } from './terminal-filter.ts';
import { createModeTrack } from './terminal-modes.ts';

/**
 * Filters the output of a program that has a pseudo-terminal of its own, for a person's terminal in raw mode: vim, less and a shell draw with the cursor, colours and
 * the alternate screen.
 *
 * SECURITY: an allowlist. A sequence is held back until it is whole, and only the ones listed here are written, rebuilt from their parsed parts, so that the person's terminal
 * never parses anything in another way than this filter. Dropped are: strings (OSC, DCS, APC, PM, SOS: titles, the clipboard, notifications, files, pass-through of tmux);
 * queries that a terminal answers by typing into stdin (ENQ, DA, DSR, DECRQM, DECRQSS, window reports, checksums of the screen); printing, resizing, locking the keyboard;
 * modes that make the terminal type by itself (mouse, focus). C1 characters are read as the sequences that they stand for.
 */
export function createRawTerminalFilter(): TerminalFilter {
  const modes = createModeTrack();
  let out = '';
  let state: State = 'ground';
  /** Intermediate characters after ESC, or parameters and intermediates after CSI. */
  let collected = '';
  let isAfterReturn = false;

  function step(character: string): void {
    const code = character.charCodeAt(0);
    if (code >= 0x80 && code <= 0x9f) return escaped(String.fromCharCode(code - 0x40));
    if (state === 'string' || state === 'string-escape') return inString(character);
    if (code === ESC) return go('escape');
    if (code === CAN || code === SUB) return go('ground');
    if (code < 0x20 || code === DEL) return control(character);
    isAfterReturn = false;
    if (state === 'escape') escaped(character);
    else inSequence(character, code);
  }

  function go(next: State): void {
    state = next;
    collected = '';
  }

  /** As terminals do, also in the middle of a sequence. */
  function control(character: string): void {
    if (!CONTROLS.includes(character)) return;
    modes.control(character);
    // Node's raw mode leaves it to the local tty to return the carriage at a line feed. A program that has turned that off on its own terminal only means to go down.
    out += character === '\n' && !isAfterReturn ? INDEX : character;
    isAfterReturn = character === '\r';
  }

  function escaped(character: string): void {
    if (character === '[') return go('csi');
    if (STRINGS.includes(character)) return go('string');
    if (character < '0') {
      go('escape-intermediate');
      collected = character;
      return;
    }
    go('ground');
    if (!SHORT.includes(character)) return;
    modes.short(character);
    out += `\x1b${character}`;
  }

  function inSequence(character: string, code: number): void {
    const isFinal = code >= (state === 'csi' ? 0x40 : 0x30);
    if (code > 0x7e) return go('ground');
    if (!isFinal) {
      // One character more than is allowed says that it was too long.
      if (collected.length <= MOST_PARAMETER_CHARS) collected += character;
      return;
    }
    const [ended, before] = [state, collected];
    go('ground');
    if (before.length > MOST_PARAMETER_CHARS) return;
    out += ended === 'csi' ? modes.csi(before, character) : modes.designate(before, character);
  }

  function inString(character: string): void {
    const isEscaped = state === 'string-escape';
    state = 'string';
    if (character === '\x1b') state = 'string-escape';
    else if (character === '\x07' || character === '\x18' || character === '\x1a') go('ground');
    else if (isEscaped && character === '\\') go('ground');
    else if (isEscaped) {
      go('escape');
      step(character);
    }
  }

  return {
    push(text) {
      for (let at = 0; at < text.length; ) {
        const plain = state === 'ground' ? plainEnd(text, at) : at;
        if (plain > at) isAfterReturn = false;
        out += text.slice(at, plain);
        if (plain < text.length) step(text[plain]!);
        at = plain + 1;
      }
      const taken = out;
      out = '';
      return taken;
    },
    end: () => modes.reset(),
  };
}

type State = 'ground' | 'escape' | 'escape-intermediate' | 'csi' | 'string' | 'string-escape';

const [CAN, SUB, ESC, DEL] = [0x18, 0x1a, 0x1b, 0x7f];

/** Bell, backspace, tab, line ends, and the two shifts between sets of characters. */
const CONTROLS = '\x07\b\t\n\x0b\x0c\r\x0e\x0f';

const INDEX = '\x1bD';

/** DCS, SOS, OSC, PM, APC, and the title of `screen` and `tmux`. */
const STRINGS = 'PX]^_k';

/** Save and restore the cursor, keypad modes, index, next line, tab stop, reverse index, full reset. */
const SHORT = '78=>DEHMc';

/** No sequence of a program is longer: a colour by three numbers for the text and for the ground has 40. */
const MOST_PARAMETER_CHARS = 128;

const SPECIAL = /[\x00-\x1f\x7f-\x9f]/g;

/** Where the next character that is not plain text stands. */
function plainEnd(text: string, from: number): number {
  SPECIAL.lastIndex = from;
  return SPECIAL.exec(text)?.index ?? text.length;
}
