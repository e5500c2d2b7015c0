import type { TerminalFilter } from './terminal-filter.ts';
import { createModeTrack } from './terminal-modes.ts';

/**
 * Filters the output of a program with its own pseudo-terminal, for the user's terminal in raw mode: vim, less and a
 * shell draw with the cursor, colours and the alternate screen.
 *
 * SECURITY: an allowlist. A sequence is held back until it is complete, and only the ones listed here are written,
 * rebuilt from their parsed parts, so that the user's terminal never parses them differently from this filter. Dropped
 * are: strings (OSC, DCS, APC, PM, SOS: titles, the clipboard, notifications, files, pass-through of tmux); queries
 * that a terminal answers by typing into stdin (ENQ, DA, DSR, DECRQM, DECRQSS, window reports, checksums of the
 * screen); printing, resizing, locking the keyboard; modes that make the terminal type by itself (mouse, focus). C1
 * characters are read as their escape sequences.
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

  /** Handles a control character, even in the middle of a sequence, as terminals do. */
  function control(character: string): void {
    if (!CONTROLS.includes(character)) return;
    modes.control(character);
    // In Node's raw mode the local tty returns the carriage at a line feed. A program that turned that off on its own
    // terminal only wants to move down.
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
      // One character over the limit marks the sequence as too long.
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

/** Maximum length of parameters. The longest in use has 40: RGB colours of text and background. */
const MOST_PARAMETER_CHARS = 128;

const SPECIAL = /[\x00-\x1f\x7f-\x9f]/g;

/** Position of the next character that is not plain text. */
function plainEnd(text: string, from: number): number {
  SPECIAL.lastIndex = from;
  return SPECIAL.exec(text)?.index ?? text.length;
}
