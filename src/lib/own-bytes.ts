/**
 * The bytes to keep from a larger buffer: the same view if it is at least half of the buffer, else a copy with its own
 * memory. SECURITY: a view keeps the whole buffer alive. A frame may have one byte of content behind a head of 64 kB,
 * and a small copy from Node's pool (`Buffer.from`) keeps a slab of 8 kB.
 */
export function ownBytes(bytes: Buffer): Buffer {
  if (bytes.length * 2 >= bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
