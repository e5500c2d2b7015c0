/**
 * Keeps the head and the tail of a flow of bytes while it streams, and counts what fell out between them. However much comes, it holds at most
 * `headBytes + tailBytes` and one chunk.
 */
export interface BoundedOutput {
  push(chunk: Buffer): void;
  /** The text, with a line that says what is missing where something is. Invalid UTF-8 is replaced. */
  text(): string;
  droppedBytes(): number;
  totalBytes(): number;
  /** What it holds now. */
  heldBytes(): number;
}

export function createBoundedOutput(options: { headBytes: number; tailBytes: number }): BoundedOutput {
  const head: Buffer[] = [];
  let headBytes = 0;
  let tail: Buffer[] = [];
  let tailBytes = 0;
  let totalBytes = 0;

  function push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    totalBytes += chunk.length;
    const room = options.headBytes - headBytes;
    if (room > 0) {
      const part = chunk.subarray(0, room);
      head.push(Buffer.from(part));
      headBytes += part.length;
      chunk = chunk.subarray(part.length);
    }
    if (chunk.length === 0) return;
    const part = chunk.subarray(Math.max(0, chunk.length - options.tailBytes));
    tail.push(Buffer.from(part));
    tailBytes += part.length;
    while (tail.length > 1 && tailBytes - (tail[0]?.length ?? 0) >= options.tailBytes)
      tailBytes -= tail.shift()?.length ?? 0;
    // Many small chunks cost more than their bytes.
    if (tail.length > 1024) tail = [Buffer.concat(tail)];
  }

  const kept = () => headBytes + Math.min(tailBytes, options.tailBytes);

  return {
    push,
    text: () => {
      const last = Buffer.concat(tail).subarray(-options.tailBytes);
      const dropped = totalBytes - headBytes - last.length;
      if (dropped === 0) return Buffer.concat([...head, last]).toString('utf8');
      const first = Buffer.concat(head).toString('utf8');
      return `${first}\n… ${dropped} bytes left out …\n${last.toString('utf8')}`;
    },
    droppedBytes: () => Math.max(0, totalBytes - kept()),
    totalBytes: () => totalBytes,
    heldBytes: () => headBytes + tailBytes,
  };
}
