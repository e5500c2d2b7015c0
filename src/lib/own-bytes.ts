/**
 * Bytes to keep of a larger buffer: themselves where they are at least half of it, else a copy in memory of its own. SECURITY: a view keeps the whole buffer alive. A
 * frame may have one byte of content behind a head of 64 kB, and a small copy from Node's pool (`Buffer.from`) keeps a slab of 8 kB.
 */
export function ownBytes(bytes: Buffer): Buffer {
  if (bytes.length * 2 >= bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
