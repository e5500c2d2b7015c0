import type { FoldedOutput } from '../lib/folded-output.ts';
import { ownBytes } from '../lib/own-bytes.ts';
import { wholeCharacters } from '../lib/whole-characters.ts';

/** One text of a stream. Its end may be overwritten, its beginning dropped. */
export interface KeptText {
  data: Buffer;
}

/** The texts of one stream: `headBytes` of the first, `tailBytes` of the last. */
export interface KeptTexts {
  /** Adds a text, in at most two parts. Returns them, and the older texts that were dropped for them. */
  add(ends: ReturnType<FoldedOutput['ends']>): { added: readonly KeptText[]; dropped: readonly KeptText[] };
  /** Removes the last line if no `\n` ended it. Returns the text, if nothing is left of it. */
  dropUnfinishedLine(): readonly KeptText[];
  /** The content of a text; the first one after a gap says how much is missing. */
  read(text: KeptText): string;
  clear(): void;
}

/**
 * Bytes that a text counts besides its own. SECURITY: a program can print single bytes to both streams in turn, and
 * each begins another text.
 */
const TEXT_BYTES = 64;
const NEWLINE = 0x0a;
const EMPTY = Buffer.alloc(0);

export function createKeptTexts(limits: { readonly headBytes: number; readonly tailBytes: number }): KeptTexts {
  // The first text of each costs nothing besides its bytes.
  const headBytes = limits.headBytes + TEXT_BYTES;
  const mostTailBytes = limits.tailBytes + TEXT_BYTES;
  let headRoom = headBytes;
  let tail: KeptText[] = [];
  let tailBytes = 0;
  let droppedBytes = 0;
  let last: KeptText | undefined;

  /** Fills the head. Returns the number of bytes that it took. */
  function takeIntoHead(first: Buffer): number {
    const room = Math.max(0, headRoom - TEXT_BYTES);
    const count = first.length <= room ? first.length : wholeCharacters(first.subarray(0, room));
    headRoom = count < first.length ? 0 : Math.max(0, headRoom - TEXT_BYTES - count);
    return count;
  }

  function trimTail(): KeptText[] {
    let gone = 0;
    for (; tailBytes > mostTailBytes && gone < tail.length - 1; gone += 1) {
      const oldest = tail[gone]!;
      const excess = tailBytes - mostTailBytes;
      if (oldest.data.length + TEXT_BYTES > excess) break;
      droppedBytes += oldest.data.length;
      tailBytes -= oldest.data.length + TEXT_BYTES;
    }
    const dropped = tail.splice(0, gone);
    const [oldest] = tail;
    const cut = Math.min(oldest?.data.length ?? 0, Math.max(0, tailBytes - mostTailBytes));
    if (oldest !== undefined && cut > 0) oldest.data = ownBytes(oldest.data.subarray(cut));
    droppedBytes += cut;
    tailBytes -= cut;
    return dropped;
  }

  return {
    add(ends) {
      const count = takeIntoHead(ends.first);
      const isWhole = ends.droppedBytes === 0;
      const rest = Buffer.concat([isWhole ? ends.first.subarray(count) : EMPTY, ends.last]);
      droppedBytes += isWhole ? 0 : ends.droppedBytes + ends.first.length - count;
      const added = [Buffer.from(ends.first.subarray(0, count)), rest]
        .filter(({ length }) => length > 0)
        .map((data): KeptText => ({ data: ownBytes(data) }));
      last = added.at(-1);
      if (rest.length === 0 || last === undefined) return { added, dropped: [] };
      headRoom = 0;
      tail.push(last);
      tailBytes += rest.length + TEXT_BYTES;
      return { added, dropped: trimTail() };
    },
    dropUnfinishedLine() {
      if (last === undefined) return [];
      const text = last;
      const kept = text.data.lastIndexOf(NEWLINE) + 1;
      const isEmpty = kept === 0;
      const freed = text.data.length - kept + (isEmpty ? TEXT_BYTES : 0);
      text.data = ownBytes(text.data.subarray(0, kept));
      if (tail.at(-1) === text) tailBytes -= freed;
      else if (tail.length === 0) headRoom += freed;
      if (!isEmpty) return [];
      if (tail.at(-1) === text) tail.pop();
      last = undefined;
      return [text];
    },
    read(text) {
      const content = text.data.toString('utf8');
      return droppedBytes > 0 && tail[0] === text ? `\n… ${droppedBytes} bytes omitted …\n${content}` : content;
    },
    clear() {
      headRoom = headBytes;
      tail = [];
      tailBytes = droppedBytes = 0;
      last = undefined;
    },
  };
}
