import { createTerminalScanner } from '../lib/terminal-scanner.ts';

/** Makes text from a sandbox safe to show at a terminal, piece by piece. */
export interface TerminalFilter {
  push(text: string): string;
  /** Ends a colour that the text left on. */
  end(): string;
}

/**
 * SECURITY: a terminal obeys what it is shown. A program in a sandbox could set the clipboard, retitle the window, write over lines that are ours, or
 * ask a question whose answer the terminal types into the person's shell. Characters, line ends, `\r`, `\b` and, if wanted, colours go through; nothing else does.
 */
export function createTerminalFilter({ colours }: { colours: boolean }): TerminalFilter {
  let out = '';
  let isColoured = false;
  const scanner = createTerminalScanner({
    text: (text) => {
      out += text.replace(CONTROLS, '');
    },
    control: (character) => {
      out += character;
    },
    sequence: (parameters, final) => {
      if (!colours || final !== 'm' || !/^[\d;:]*$/.test(parameters)) return;
      isColoured = true;
      out += `\x1b[${parameters}m`;
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

/** Text that is whole, safe to show and, unless they are wanted, without colours. */
export function shownText(text: string, options = { colours: false }): string {
  const filter = createTerminalFilter(options);
  return filter.push(text) + filter.end();
}

/** All control characters but the tab, those of 8 bits, and the marks that turn the direction of text, so that it reads as something else. */
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;
