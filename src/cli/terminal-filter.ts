import { createEscaper } from '../lib/escape-characters.ts';
import { createTerminalScanner } from '../lib/terminal-scanner.ts';

/** Makes text from a sandbox safe for a terminal, piece by piece. */
export interface TerminalFilter {
  push(text: string): string;
  /** Ends a colour that the text left on. */
  end(): string;
}

/**
 * SECURITY: a terminal executes control sequences. A program in a sandbox could set the clipboard, retitle the window,
 * overwrite Hotcell's lines, or send a query whose answer the terminal types into the user's shell. Only characters,
 * line ends, `\r`, `\b` and, if wanted, colours pass.
 */
export function createTerminalFilter({ colours }: { colours: boolean }): TerminalFilter {
  let out = '';
  let isColoured = false;
  const scanner = createTerminalScanner({
    text: (text) => {
      out += text.replace(CONTROLS, '').replaceAll(BLANK, ' ');
    },
    control: (character) => {
      out += character;
    },
    sequence: (parameters, final) => {
      if (!colours || final !== 'm' || !/^[\d;:]*$/.test(parameters)) return;
      const shown = withoutConcealing(parameters);
      if (shown === undefined) return;
      isColoured = true;
      out += `\x1b[${shown}m`;
    },
  });
  const take = (): string => {
    const taken = out;
    out = '';
    return taken;
  };
  return {
    push(text) {
      scanner.push(text);
      return take();
    },
    end: () => (isColoured ? '\x1b[0m' : ''),
  };
}

/**
 * Colours without the parameter that conceals text (8). SECURITY: text typed or printed after it would be invisible.
 * Undefined if nothing is left, or if terminals may read the numbers in different ways.
 */
function withoutConcealing(parameters: string): string | undefined {
  const kept: string[] = [];
  const numbers = parameters.split(';');
  for (let at = 0; at < numbers.length; at += 1) {
    const [first] = numbers[at]!.split(':');
    if (Number(first) === 8) continue;
    kept.push(numbers[at]!);
    if (!/^0*[345]8$/.test(numbers[at]!)) continue;
    // The numbers of an indexed or RGB colour are not parameters of their own.
    const taken = { 5: 2, 2: 4 }[Number(numbers[at + 1])];
    if (taken === undefined || at + taken >= numbers.length) return undefined;
    kept.push(...numbers.slice(at + 1, at + 1 + taken));
    at += taken;
  }
  return kept.length === 0 ? undefined : kept.join(';');
}

/** A complete text, safe for a terminal; without colours unless they are wanted. */
export function shownText(text: string, options = { colours: false }): string {
  const filter = createTerminalFilter(options);
  return filter.push(text) + filter.end();
}

/**
 * A line of Hotcell's own, which may quote names, messages of a server, or lines of a project's files. SECURITY: the
 * only sequences that pass are the colours of `print.ts`, if colours are wanted; every other invisible character is
 * shown as `\uXXXX`.
 */
export function ownText(text: string, options = { colours: false }): string {
  let isColoured = false;
  const shown = text.split(KEPT).map((part, index) => {
    if (index % 2 === 0) return withEscapes(part);
    if (part === '\r\n') return part;
    if (!options.colours) return '';
    isColoured = part !== '\x1b[0m';
    return part;
  });
  return isColoured ? `${shown.join('')}\x1b[0m` : shown.join('');
}

/** Text of the line editor and the spinner: like `ownText`, with the cursor sequences that those two use. */
export function drawnText(text: string, options = { colours: false }): string {
  return text
    .split(MOVES)
    .map((part, index) => (index % 2 === 1 ? part : ownText(part, options)))
    .join('');
}

/** Whether this is exactly one picture for iTerm2 or kitty, whose bytes are in base64 and contain no sequence. */
export function isPictureSequence(text: string): boolean {
  return ITERM_PICTURE.test(text) || KITTY_PICTURE.test(text);
}

/**
 * All control characters but the tab, C1 characters, bidirectional marks, which make text read as something else, and
 * zero-width characters that join nothing. (Joiners and emoji variation selectors stay: without them emoji, Persian and
 * Mongolian fall apart.)
 */
const CONTROLS =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Bidi_Control}\u2028\u2029]|(?!\u200c|\u200d|\ufe0e|\ufe0f|[\u180b-\u180d]|\u180f)\p{Default_Ignorable_Code_Point}/gu;

/** The Braille pattern without dots. Programs draw with it; a space has the same width, and is recognizable. */
const BLANK = '\u2800';

/** The colours of `print.ts`, and line ends of two characters. */
const KEPT = /(\x1b\[(?:0|1|2|7|31|32|33|35|36)m|\r\n)/;

const withEscapes = createEscaper(/(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u);

/** Cursor up and right, carriage return, erasing, clearing the screen, and bracketed paste. */
const MOVES = /(\x1b\[\d{1,5}[AC]|\r|\x1b\[(?:J|2K|2J\x1b\[H|\?2004[hl]))/;

const ITERM_PICTURE = /^\x1b\]1337;File=inline=1;size=\d+:[A-Za-z0-9+/=]*\x07\n?$/;
const KITTY_PICTURE = /^(?:\x1b_G(?:a=T,f=100,)?m=[01];[A-Za-z0-9+/=]*\x1b\\)*\n?$/;
