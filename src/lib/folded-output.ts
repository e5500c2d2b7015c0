import { createBoundedOutput } from './bounded-output.ts';
import { createTerminalPage, MAX_PAGE_CHARS, type TerminalPage } from './terminal-page.ts';
import { createTerminalScanner } from './terminal-scanner.ts';

export interface FoldedOutput {
  push(chunk: Buffer): void;
  /** The text so far. Reading it changes nothing: the cursor stays, and so does half a sequence. */
  text(): string;
  /** Number of bytes of the folded text that were dropped. */
  droppedBytes(): number;
}

/** A page is bounded after so many bytes. SECURITY: one chunk of 64 kB could otherwise fill a page with two million spaces (`ESC[200C`). */
const SLICE_BYTES = 8192;
/**
 * Text that may be taken back from what is settled: so much, and so much more for each byte that comes. SECURITY: a sequence of three bytes that sends the cursor up
 * would otherwise move 64 kB to and fro, again and again.
 */
const TAKE_BACK_BYTES = 1_048_576;
const TAKE_BACK_BYTES_PER_BYTE = 16;
const LINE_COST_BYTES = 256;
/** Spaces that a cursor beyond the end of a line may leave: so many, and so many more for each byte that comes. SECURITY: seven bytes (`ESC[200Cx`) would otherwise cost as much as 201. */
const GAP_CHARS = 262_144;
const GAP_CHARS_PER_BYTE = 4;

/**
 * Bounded output as a terminal would leave it on the screen: of a line that was written over (`\r`, `\b`, progress bars that move the cursor up) the last
 * state is kept and the others cost nothing, and colours are gone. It folds while it streams, so that ten thousand states of one line are one line. Where
 * a line is longer than a page, too much was taken back already, or the cursor was sent to the right too often, the text goes on as if the cursor had not been moved.
 */
export function createFoldedOutput(limits: { headBytes: number; tailBytes: number }): FoldedOutput {
  const settled = createBoundedOutput(limits);
  /** The lines that the cursor is in, once something has moved it. Plain text never needs them. */
  let page: TerminalPage | undefined;
  let takeBackBytes = TAKE_BACK_BYTES;
  let gapChars = GAP_CHARS;
  /** One byte is one character to it: sequences are ASCII, and all else passes as it is. */
  const stripper = createTerminalScanner({
    text: (text) => settled.push(Buffer.from(text, 'latin1')),
    control: (character) => character === '\n' && settled.push(Buffer.from(character)),
    sequence: () => {},
  });

  function takeLine(ended: boolean): Buffer | undefined {
    if (takeBackBytes <= 0) return undefined;
    const line = settled.takeLine({ ended, maxBytes: MAX_PAGE_CHARS - 1 });
    if (line !== undefined) takeBackBytes -= line.length + LINE_COST_BYTES;
    return line;
  }

  function takeGap(chars: number): boolean {
    if (chars > gapChars) return false;
    gapChars -= chars;
    return true;
  }

  function openPage(): TerminalPage | undefined {
    const line = takeLine(false);
    if (line === undefined) return undefined;
    const opened = createTerminalPage({ lineAbove: () => takeLine(true)?.toString('utf8'), takeGap });
    opened.push(line);
    return opened;
  }

  /** What may be written over becomes text like any other, which can be taken back. */
  function closePage(): void {
    settled.push(pageBytes());
    page = undefined;
  }

  function pageBytes(): Buffer {
    return page === undefined ? EMPTY : Buffer.from(page.text());
  }

  /** Pushes what need not go through a page, and answers with the rest. */
  function pushPlain(chunk: Buffer): Buffer {
    if (page === undefined ? stripper.unread() !== '' : !page.isAtEnd()) return chunk;
    const plain = plainBytes(chunk);
    const count = plain === chunk.length ? plain : chunk.subarray(0, plain).lastIndexOf(NEWLINE) + 1;
    if (count === 0) return chunk;
    closePage();
    settled.push(chunk.subarray(0, count));
    return chunk.subarray(count);
  }

  /** Pushes a slice, and answers with what is left of it. */
  function pushMoving(slice: Buffer): Buffer {
    if (page === undefined && stripper.unread() === '') page = openPage();
    if (page === undefined) return pushStripped(slice);
    page.push(slice);
    if (page.isLarge()) bound(page);
    return EMPTY;
  }

  /** Pushes the text of the current line alone. The next line may be short enough for a page again. */
  function pushStripped(slice: Buffer): Buffer {
    const end = slice.indexOf(NEWLINE) + 1 || slice.length;
    stripper.push(slice.toString('latin1', 0, end));
    return slice.subarray(end);
  }

  function bound(full: TerminalPage): void {
    settled.push(Buffer.from(full.takeAbove()));
    if (!full.isLarge()) return;
    const unread = full.unread();
    closePage();
    if (unread.length > 0) pushMoving(unread);
  }

  return {
    push(chunk) {
      takeBackBytes = Math.min(TAKE_BACK_BYTES, takeBackBytes + TAKE_BACK_BYTES_PER_BYTE * chunk.length);
      gapChars = Math.min(GAP_CHARS, gapChars + GAP_CHARS_PER_BYTE * chunk.length);
      let rest = pushPlain(chunk);
      while (rest.length > 0) {
        const left = pushMoving(rest.subarray(0, SLICE_BYTES));
        rest = rest.subarray(Math.min(SLICE_BYTES, rest.length) - left.length);
      }
    },
    text: () => settled.text(pageBytes()),
    droppedBytes: () => settled.droppedBytes(pageBytes()),
  };
}

const NEWLINE = 0x0a;
const EMPTY = Buffer.alloc(0);
const CONTROLS = [0x0d, 0x08, 0x1b];

/** How many bytes there are before the first that is more than text to a terminal. */
function plainBytes(chunk: Buffer): number {
  return CONTROLS.reduce((first, control) => {
    const at = chunk.subarray(0, first).indexOf(control);
    return at === -1 ? first : at;
  }, chunk.length);
}
