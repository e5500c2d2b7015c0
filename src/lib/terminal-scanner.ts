import { ownString } from './own-string.ts';

/** Callbacks for the parts of terminal output: text, and control functions between them. */
export interface TerminalHandler {
  /** Text without `\r`, `\n`, `\b` and escape sequences; it may contain other control characters. */
  text(text: string): void;
  control(character: '\r' | '\n' | '\b'): void;
  /** `ESC [ parameters final`: colours are `m`, the cursor moves by `A` to `D`, `K` erases. */
  sequence(parameters: string, final: string): void;
}

export interface TerminalScanner {
  push(text: string): void;
  /** The beginning of an incomplete sequence. */
  unread(): string;
}

/** A longer escape sequence is not recognised; its text is shown. */
const MAX_SEQUENCE_CHARS = 4096;

const PLAIN = /[^\r\n\b\x1b]+/y;
const CSI = /\x1b\[([0-?]*)[ -/]*([@-~])/y;
/** Strings such as titles, clipboard, links and device control: from their introducer to BEL or ST. */
const STRING = /\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|(?=\x1b[^\\]))/y;
const SHORT = /\x1b[ -/]*[0-~]/y;
/** The beginning of any of the three, up to the end of the text. */
const UNFINISHED = /\x1b(?:[\]PX^_][^\x07\x1b]*\x1b?|\[[0-?]*[ -/]*|[ -/]*)$/y;

/**
 * Splits text, in pieces of any size, into plain text and control functions. Only colours, cursor moves and erasing are
 * reported; other sequences that a terminal would obey (titles, the clipboard, queries that it answers as input) are
 * dropped.
 */
export function createTerminalScanner(handler: TerminalHandler): TerminalScanner {
  let pending = '';

  /** Returns the next position, or undefined if the text ends too early to decide. */
  function step(text: string, at: number): number | undefined {
    const plain = matchAt(PLAIN, text, at);
    if (plain !== null) {
      handler.text(plain[0]);
      return PLAIN.lastIndex;
    }
    const character = text[at] as string;
    if (character === '\r' || character === '\n' || character === '\b') {
      handler.control(character);
      return at + 1;
    }
    const csi = matchAt(CSI, text, at);
    if (csi !== null) {
      handler.sequence(csi[1] as string, csi[2] as string);
      return CSI.lastIndex;
    }
    if (text.length - at <= MAX_SEQUENCE_CHARS && matchAt(UNFINISHED, text, at) !== null) return undefined;
    for (const kind of [STRING, SHORT]) if (matchAt(kind, text, at) !== null) return kind.lastIndex;
    return at + 1; // an ESC that starts no sequence
  }

  return {
    push(text) {
      const whole = pending + text;
      pending = '';
      for (let at = 0; at < whole.length; ) {
        const next = step(whole, at);
        if (next === undefined) {
          pending = whole.slice(at);
          return;
        }
        at = next;
      }
    },
    unread: () => pending,
  };
}

/** The text without escape sequences, for a reader without a terminal. */
export function withoutEscapes(text: string): string {
  if (!text.includes('\x1b')) return text;
  const parts: string[] = [];
  const keep = (part: string) => void parts.push(part);
  createTerminalScanner({ text: keep, control: keep, sequence: () => {} }).push(text);
  return ownString(parts.join(''));
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
