import { createBoundedOutput } from './bounded-output.ts';
import { createTerminalPage, type TerminalPage } from './terminal-page.ts';

/** Asked for its text when all has come. */
export interface FoldedOutput {
  push(chunk: Buffer): void;
  text(): string;
  /** Of the folded text. */
  droppedBytes(): number;
}

/**
 * Bounded output as a terminal would leave it on the screen: of a line that was written over (`\r`, `\b`, progress bars that move the cursor up) the last
 * state is kept and the others cost nothing, and colours are gone. It folds while it streams, so that ten thousand states of one line are one line.
 */
export function createFoldedOutput(limits: { headBytes: number; tailBytes: number }): FoldedOutput {
  const settled = createBoundedOutput(limits);
  /** The lines that the cursor is in, once something has moved it. Plain text never needs them. */
  let page: TerminalPage | undefined;

  function openPage(): TerminalPage {
    const opened = createTerminalPage(() => settled.takeLine({ ended: true })?.toString('utf8'));
    opened.push(settled.takeLine() ?? Buffer.alloc(0));
    return opened;
  }

  /** What may be written over becomes text like any other, which can be taken back. */
  function closePage(): void {
    if (page !== undefined) settled.push(Buffer.from(page.text()));
    page = undefined;
  }

  /** Pushes what need not go through a page, and answers with the rest. */
  function pushPlain(chunk: Buffer): Buffer {
    if (page !== undefined && !page.isAtEnd()) return chunk;
    const plain = plainBytes(chunk);
    const count = plain === chunk.length ? plain : chunk.subarray(0, plain).lastIndexOf(NEWLINE) + 1;
    if (count === 0) return chunk;
    closePage();
    settled.push(chunk.subarray(0, count));
    return chunk.subarray(count);
  }

  function bound(full: TerminalPage): void {
    settled.push(Buffer.from(full.takeAbove()));
    if (!full.isLarge()) return;
    const unread = full.unread();
    closePage();
    if (unread.length === 0) return;
    page = openPage();
    page.push(unread);
  }

  return {
    push(chunk) {
      const rest = pushPlain(chunk);
      if (rest.length === 0) return;
      page ??= openPage();
      page.push(rest);
      if (page.isLarge()) bound(page);
    },
    text() {
      closePage();
      return settled.text();
    },
    droppedBytes() {
      closePage();
      return settled.droppedBytes();
    },
  };
}

const NEWLINE = 0x0a;
const CONTROLS = [0x0d, 0x08, 0x1b];

/** How many bytes there are before the first that is more than text to a terminal. */
function plainBytes(chunk: Buffer): number {
  return CONTROLS.reduce((first, control) => {
    const at = chunk.subarray(0, first).indexOf(control);
    return at === -1 ? first : at;
  }, chunk.length);
}
