/**
 * Keeps the head and the tail of a byte stream and counts the bytes dropped between them. It holds at most `headBytes +
 * tailBytes` and allocates nothing per chunk: a flood would otherwise leave a gigabyte of garbage to collect.
 */
export interface BoundedOutput {
  push(chunk: Buffer): void;
  /**
   * Removes the last line, without its `\n`, and returns it: a carriage return is about to overwrite it. With `ended`,
   * the line before the final `\n`. Returns undefined if no line is held, or if it is longer than `maxBytes`; of a line
   * that was partly dropped, the rest.
   */
  takeLine(options: { ended: boolean; maxBytes: number }): Buffer | undefined;
  /**
   * The text; if bytes were dropped, a line in it says how many. Invalid UTF-8 is replaced. `more` is added as if it
   * had been pushed.
   */
  text(more?: Buffer): string;
  /** The last `count` bytes of what is held, or all of it. Costs no more than those bytes. */
  last(count: number): Buffer;
  /** The bytes before and after those that were dropped. */
  ends(more?: Buffer): { readonly first: Buffer; readonly last: Buffer; readonly droppedBytes: number };
  droppedBytes(more?: Buffer): number;
  /** Number of line ends in the dropped bytes. */
  droppedLines(more?: Buffer): number;
  totalBytes(): number;
  /** Bytes held in memory now. */
  heldBytes(): number;
}

const NEWLINE = 0x0a;
const EMPTY = Buffer.alloc(0);

export function createBoundedOutput(options: { headBytes: number; tailBytes: number }): BoundedOutput {
  const head = createHead(options.headBytes);
  const tail = createTail(options.tailBytes);
  let totalBytes = 0;
  let totalLines = 0;
  const droppedBytes = () => totalBytes - head.length() - tail.length();

  /** The length of the text after the last `\n` that is at least `end` bytes before the end, or of everything held. */
  function lineLength(end: number): number {
    const inTail = tail.lengthAfterLast(NEWLINE, end);
    if (inTail !== undefined) return inTail;
    const reachesHead = droppedBytes() === 0;
    const rest = Math.max(0, end - tail.length());
    const inHead = reachesHead ? (head.lengthAfterLast(NEWLINE, rest) ?? head.length() - rest) : 0;
    return Math.max(0, tail.length() - end) + inHead;
  }

  function take(count: number): Buffer {
    const fromTail = Math.min(count, tail.length());
    const last = tail.take(fromTail);
    const taken = fromTail === count ? last : Buffer.concat([head.take(count - fromTail), last]);
    totalBytes -= count;
    totalLines -= linesIn(taken);
    return taken;
  }

  /** The bytes that would be held after a push of `more`. */
  function held(more: Buffer): { first: Buffer; last: Buffer; dropped: number } {
    if (more.length === 0) return { first: head.bytes(), last: tail.bytes(), dropped: droppedBytes() };
    const inHead = tail.length() === 0 ? Math.min(more.length, options.headBytes - head.length()) : 0;
    const first = inHead === 0 ? head.bytes() : Buffer.concat([head.bytes(), more.subarray(0, inHead)]);
    const rest = Buffer.concat([tail.bytes(), more.subarray(inHead)]);
    const last = rest.subarray(Math.max(0, rest.length - options.tailBytes));
    return { first, last, dropped: totalBytes + more.length - first.length - last.length };
  }

  return {
    push(chunk) {
      totalBytes += chunk.length;
      totalLines += linesIn(chunk);
      const taken = tail.length() === 0 ? head.push(chunk) : 0;
      if (taken < chunk.length) tail.push(taken === 0 ? chunk : chunk.subarray(taken));
    },
    takeLine({ ended, maxBytes }) {
      const held = tail.length() > 0 || droppedBytes() === 0 ? totalBytes : 0;
      const skipped = ended ? 1 : 0;
      if (held < skipped) return undefined;
      const length = lineLength(skipped);
      if (length > maxBytes) return undefined;
      const line = take(length + skipped);
      return line.subarray(0, length);
    },
    text(more = EMPTY) {
      const { first, last, dropped } = held(more);
      if (dropped === 0) return Buffer.concat([first, last]).toString('utf8');
      return `${first.toString('utf8')}\n… ${dropped} bytes omitted …\n${last.toString('utf8')}`;
    },
    last(count) {
      const inTail = tail.last(Math.min(count, tail.length()));
      const missing = droppedBytes() === 0 ? Math.min(count - inTail.length, head.length()) : 0;
      return missing === 0 ? inTail : Buffer.concat([head.bytes().subarray(head.length() - missing), inTail]);
    },
    ends(more = EMPTY) {
      const { first, last, dropped } = held(more);
      return { first, last, droppedBytes: dropped };
    },
    droppedBytes: (more = EMPTY) => held(more).dropped,
    droppedLines: (more = EMPTY) => {
      const { first, last, dropped } = held(more);
      return dropped === 0 ? 0 : totalLines + linesIn(more) - linesIn(first) - linesIn(last);
    },
    totalBytes: () => totalBytes,
    heldBytes: () => head.length() + tail.length(),
  };
}

/** By index: a search for each line end would take seconds for a flood of empty lines. */
function linesIn(bytes: Buffer): number {
  let lines = 0;
  for (let index = 0; index < bytes.length; index += 1) if (bytes[index] === NEWLINE) lines += 1;
  return lines;
}

/** The first bytes of a stream, in a buffer that grows with them. */
function createHead(sizeBytes: number) {
  let buffer: Buffer = Buffer.alloc(0);
  let length = 0;

  return {
    /** Returns the number of bytes it took. */
    push(chunk: Buffer): number {
      const count = Math.min(chunk.length, sizeBytes - length);
      if (length + count > buffer.length) {
        const larger = Buffer.allocUnsafe(Math.min(sizeBytes, Math.max(256, 2 * (length + count))));
        buffer.copy(larger, 0, 0, length);
        buffer = larger;
      }
      chunk.copy(buffer, length, 0, count);
      length += count;
      return count;
    },
    take(count: number): Buffer {
      length -= count;
      return Buffer.from(buffer.subarray(length, length + count));
    },
    lengthAfterLast(byte: number, end: number): number | undefined {
      const found = buffer.subarray(0, Math.max(0, length - end)).lastIndexOf(byte);
      return found === -1 ? undefined : length - end - found - 1;
    },
    length: () => length,
    bytes: () => buffer.subarray(0, length),
  };
}

/** The last bytes of a stream, in a ring buffer that is allocated with the first byte. */
function createTail(sizeBytes: number) {
  let ring: Buffer | undefined;
  let end = 0;
  let length = 0;

  function last(count: number): Buffer {
    if (ring === undefined || count === 0) return Buffer.alloc(0);
    const start = (end - count + sizeBytes) % sizeBytes;
    if (start < end) return ring.subarray(start, end);
    return Buffer.concat([ring.subarray(start), ring.subarray(0, end)]);
  }

  return {
    push(chunk: Buffer): void {
      if (sizeBytes === 0) return;
      ring ??= Buffer.allocUnsafe(sizeBytes);
      const part = chunk.subarray(Math.max(0, chunk.length - sizeBytes));
      const first = part.copy(ring, end);
      if (first < part.length) part.copy(ring, 0, first);
      end = (end + part.length) % sizeBytes;
      length = Math.min(sizeBytes, length + part.length);
    },
    take(count: number): Buffer {
      if (count === 0) return Buffer.alloc(0);
      const taken = Buffer.from(last(count));
      end = (end - count + sizeBytes) % sizeBytes;
      length -= count;
      return taken;
    },
    lengthAfterLast(byte: number, skipped: number): number | undefined {
      const searched = length - skipped;
      if (ring === undefined || searched <= 0) return undefined;
      const until = (end - skipped + sizeBytes) % sizeBytes || sizeBytes;
      const newer = ring.subarray(Math.max(0, until - searched), until);
      const inNewer = newer.lastIndexOf(byte);
      if (inNewer !== -1) return newer.length - 1 - inNewer;
      const older = ring.subarray(sizeBytes - (searched - newer.length));
      const inOlder = older.lastIndexOf(byte);
      return inOlder === -1 ? undefined : newer.length + older.length - 1 - inOlder;
    },
    length: () => length,
    last,
    bytes: () => last(length),
  };
}
