/** What a terminal would be told by a text: characters to show, and what to do between them. */
export interface TerminalHandler {
  /** Characters without `\r`, `\n`, `\b` and escape sequences. Other control characters are among them. */
  text(text: string): void;
  control(character: '\r' | '\n' | '\b'): void;
  /** `ESC [ parameters final`: colours are `m`, the cursor moves by `A` to `D`, `K` erases. */
  sequence(parameters: string, final: string): void;
}

export interface TerminalScanner {
  push(text: string): void;
  /** The beginning of a sequence whose end has not come. */
  unread(): string;
}

/** An escape sequence that is longer than this is none: its text is shown. */
const MAX_SEQUENCE_CHARS = 4096;

const PLAIN = /[^\r\n\b\x1b]+/y;
const CSI = /\x1b\[([0-?]*)[ -/]*([@-~])/y;
/** Titles, clipboards, links, device strings: from their introducer to BEL or ST. */
const STRING = /\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|(?=\x1b[^\\]))/y;
const SHORT = /\x1b[ -/]*[0-~]/y;
/** The beginning of one of the three, up to the end of the text. */
const UNFINISHED = /\x1b(?:[\]PX^_][^\x07\x1b]*\x1b?|\[[0-?]*[ -/]*|[ -/]*)$/y;

/**
 * Takes text in pieces of any size, and tells sequences from text however they are cut. Only colours, cursor moves and erasing are told; all else that
 * a terminal would obey (titles, the clipboard, questions that it answers by typing) is left out.
 */
export function createTerminalScanner(handler: TerminalHandler): TerminalScanner {
  let pending = '';

  /** Answers with where to go on, or with nothing if the text ends too early to tell. */
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
    return at + 1; // an introducer of nothing
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

/** The same text as a reader without a terminal wants it. */
export function withoutEscapes(text: string): string {
  if (!text.includes('\x1b')) return text;
  let plain = '';
  const keep = (part: string) => {
    plain += part;
  };
  createTerminalScanner({ text: keep, control: keep, sequence: () => {} }).push(text);
  return plain;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
