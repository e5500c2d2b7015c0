import { type BoundedOutput, createBoundedOutput } from './bounded-output.ts';
import { createTerminalPage, MAX_PAGE_CHARS, type TerminalPage } from './terminal-page.ts';
import { createTerminalScanner } from './terminal-scanner.ts';

export interface FoldedOutput {
  push(chunk: Buffer): void;
  /** The text so far. Reading has no side effect: the cursor and an incomplete sequence are kept. */
  text(): string;
  /** The last `chars` characters of the text, at most. Costs no more than they do, however long the text is. */
  tail(chars: number): string;
  /** About the number of bytes that `text` decodes. */
  heldBytes(): number;
  /** The bytes of the text before and after those that were dropped. They are valid until the next push. */
  ends(): ReturnType<BoundedOutput['ends']>;
  /** Number of bytes of the folded text that were dropped. */
  droppedBytes(): number;
  /** Number of its line ends that were dropped. */
  droppedLines(): number;
}

/**
 * The page is bounded after this many bytes of input. SECURITY: one chunk of 64 kB could otherwise fill a page with two
 * million spaces (`ESC[200C`).
 */
const SLICE_BYTES = 8192;
/**
 * The budget for taking settled text back into the page, which also grows with each input byte. SECURITY: a sequence of
 * three bytes that moves the cursor up would otherwise make 64 kB be moved to and fro, again and again.
 */
const TAKE_BACK_BYTES = 1_048_576;
const TAKE_BACK_BYTES_PER_BYTE = 16;
const LINE_COST_BYTES = 256;
/**
 * The budget for spaces left by a cursor beyond the end of a line, which also grows with each input byte. SECURITY:
 * seven bytes (`ESC[200Cx`) would otherwise cost as much as 201.
 */
const GAP_CHARS = 262_144;
const GAP_CHARS_PER_BYTE = 4;

/** What folding may still cost. Texts of one stream share it, because a program decides how often a text ends. */
export interface FoldingBudget {
  takeBackBytes: number;
  gapChars: number;
}

export function newFoldingBudget(): FoldingBudget {
  return { takeBackBytes: TAKE_BACK_BYTES, gapChars: GAP_CHARS };
}

/**
 * Bounded output as a terminal would leave it on the screen: of a line that was overwritten (`\r`, `\b`, progress bars
 * that move the cursor up) only the last state is kept, and colours are removed. It folds while it streams, so that ten
 * thousand states of one line take the space of one. If a line is longer than a page, or a budget is used up, the text
 * continues as if the cursor had not moved.
 */
export function createFoldedOutput(
  limits: { headBytes: number; tailBytes: number },
  budget: FoldingBudget = newFoldingBudget(),
): FoldedOutput {
  const settled = createBoundedOutput(limits);
  /** The lines that the cursor can reach, created when something moves it. Plain text needs no page. */
  let page: TerminalPage | undefined;
  /** The scanner gets Latin-1, one character per byte: sequences are ASCII, and other bytes pass unchanged. */
  const stripper = createTerminalScanner({
    text: (text) => settled.push(Buffer.from(text, 'latin1')),
    control: (character) => character === '\n' && settled.push(Buffer.from(character)),
    sequence: () => {},
  });

  function takeLine(ended: boolean): Buffer | undefined {
    if (budget.takeBackBytes <= 0) return undefined;
    const line = settled.takeLine({ ended, maxBytes: MAX_PAGE_CHARS - 1 });
    if (line !== undefined) budget.takeBackBytes -= line.length + LINE_COST_BYTES;
    return line;
  }

  function takeGap(chars: number): boolean {
    if (chars > budget.gapChars) return false;
    budget.gapChars -= chars;
    return true;
  }

  function openPage(): TerminalPage | undefined {
    const line = takeLine(false);
    if (line === undefined) return undefined;
    const opened = createTerminalPage({ lineAbove: () => takeLine(true)?.toString('utf8'), takeGap });
    opened.push(line);
    return opened;
  }

  /** Moves the text of the page into the settled output, from where it can be taken back. */
  function closePage(): void {
    settled.push(pageBytes());
    page = undefined;
  }

  function pageBytes(): Buffer {
    return page === undefined ? EMPTY : Buffer.from(page.text());
  }

  /** Pushes the part that needs no page, and returns the rest. */
  function pushPlain(chunk: Buffer): Buffer {
    if (page === undefined ? stripper.unread() !== '' : !page.isAtEnd()) return chunk;
    const plain = plainBytes(chunk);
    const count = plain === chunk.length ? plain : chunk.subarray(0, plain).lastIndexOf(NEWLINE) + 1;
    if (count === 0) return chunk;
    closePage();
    settled.push(chunk.subarray(0, count));
    return chunk.subarray(count);
  }

  /** Pushes a slice through the page, and returns the unread rest. */
  function pushMoving(slice: Buffer): Buffer {
    if (page === undefined && stripper.unread() === '') page = openPage();
    if (page === undefined) return pushStripped(slice);
    page.push(slice);
    if (page.isLarge()) bound(page);
    return EMPTY;
  }

  /** Pushes the rest of the current line without a page. The next line may be short enough for one again. */
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
      const refilled = budget.takeBackBytes + TAKE_BACK_BYTES_PER_BYTE * chunk.length;
      budget.takeBackBytes = Math.min(TAKE_BACK_BYTES, refilled);
      budget.gapChars = Math.min(GAP_CHARS, budget.gapChars + GAP_CHARS_PER_BYTE * chunk.length);
      let rest = pushPlain(chunk);
      while (rest.length > 0) {
        const left = pushMoving(rest.subarray(0, SLICE_BYTES));
        rest = rest.subarray(Math.min(SLICE_BYTES, rest.length) - left.length);
      }
    },
    text: () => settled.text(pageBytes()),
    tail(chars) {
      const shown = page?.tail(chars) ?? '';
      const missing = chars - shown.length;
      return missing <= 0 ? shown.slice(-chars) : decodedTail(settled.last(missing)) + shown;
    },
    heldBytes: () => settled.heldBytes() + (page === undefined ? 0 : MAX_PAGE_CHARS),
    ends: () => settled.ends(pageBytes()),
    droppedBytes: () => settled.droppedBytes(pageBytes()),
    droppedLines: () => settled.droppedLines(pageBytes()),
  };
}

/** Decodes bytes that may begin within a character. */
function decodedTail(bytes: Buffer): string {
  let begin = 0;
  while (begin < Math.min(3, bytes.length) && ((bytes[begin] as number) & 0xc0) === 0x80) begin += 1;
  return bytes.toString('utf8', begin);
}

const NEWLINE = 0x0a;
const EMPTY = Buffer.alloc(0);
const CONTROLS = [0x0d, 0x08, 0x1b];

/** The number of bytes before the first control character. */
function plainBytes(chunk: Buffer): number {
  return CONTROLS.reduce((first, control) => {
    const at = chunk.subarray(0, first).indexOf(control);
    return at === -1 ? first : at;
  }, chunk.length);
}
