/**
 * Keeps the head and the tail of a flow of bytes while it streams, and counts what fell out between them. However much comes, it holds at most
 * `headBytes + tailBytes`, and makes no garbage: a flood would otherwise leave a gigabyte of it to be collected.
 */
export interface BoundedOutput {
  push(chunk: Buffer): void;
  /** The text, with a line that says what is missing where something is. Invalid UTF-8 is replaced. */
  text(): string;
  droppedBytes(): number;
  totalBytes(): number;
  /** What it holds in memory now. */
  heldBytes(): number;
}

export function createBoundedOutput(options: { headBytes: number; tailBytes: number }): BoundedOutput {
  const head: Buffer[] = [];
  let headBytes = 0;
  const tail = createTail(options.tailBytes);
  let totalBytes = 0;

  return {
    push(chunk) {
      totalBytes += chunk.length;
      const room = options.headBytes - headBytes;
      if (room > 0) {
        const part = chunk.subarray(0, room);
        head.push(Buffer.from(part));
        headBytes += part.length;
      }
      if (chunk.length > room) tail.push(room > 0 ? chunk.subarray(room) : chunk);
    },
    text() {
      const last = tail.bytes();
      const dropped = totalBytes - headBytes - last.length;
      if (dropped === 0) return Buffer.concat([...head, last]).toString('utf8');
      const first = Buffer.concat(head).toString('utf8');
      return `${first}\n… ${dropped} bytes left out …\n${last.toString('utf8')}`;
    },
    droppedBytes: () => totalBytes - headBytes - tail.length(),
    totalBytes: () => totalBytes,
    heldBytes: () => headBytes + tail.length(),
  };
}

/** The last bytes of a flow, in one piece of memory that is written round and round. Taken when the first byte comes. */
function createTail(sizeBytes: number) {
  let ring: Buffer | undefined;
  let end = 0;
  let length = 0;

  function push(chunk: Buffer): void {
    ring ??= Buffer.allocUnsafe(sizeBytes);
    const part = chunk.subarray(Math.max(0, chunk.length - sizeBytes));
    const first = part.copy(ring, end);
    if (first < part.length) part.copy(ring, 0, first);
    end = sizeBytes === 0 ? 0 : (end + part.length) % sizeBytes;
    length = Math.min(sizeBytes, length + part.length);
  }

  return {
    push,
    length: () => length,
    bytes(): Buffer {
      if (ring === undefined) return Buffer.alloc(0);
      if (length < sizeBytes) return ring.subarray(0, length);
      return Buffer.concat([ring.subarray(end), ring.subarray(0, end)]);
    },
  };
}
