/** Frames of the guest protocol (docs/guest-protocol.md, section 1), as the link thread reads and writes them. */

const HEADER_BYTES = 24;
const MAX_HEAD_BYTES = 65_536;
const MAX_BODY_BYTES = 1_048_576;

/** The bytes of one frame. */
export function encode(head, body = Buffer.alloc(0)) {
  const headBytes = Buffer.from(JSON.stringify(head).toWellFormed?.() ?? JSON.stringify(head));
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('HC', 'latin1');
  header[2] = 1;
  header.writeUInt32BE(headBytes.length, 4);
  header.writeUInt32BE(body.length, 8);
  return Buffer.concat([header, headBytes, body]);
}

/** Turns chunks of any size into frames `{head, body}`. What is no frame throws: the supervisor never sends such a thing. */
export function createDecoder() {
  let held = Buffer.alloc(0);
  return function* feed(chunk) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    while (held.length >= HEADER_BYTES) {
      const headBytes = held.readUInt32BE(4);
      const bodyBytes = held.readUInt32BE(8);
      if (held.toString('latin1', 0, 2) !== 'HC' || headBytes > MAX_HEAD_BYTES || bodyBytes > MAX_BODY_BYTES) {
        throw new Error('this is not a frame');
      }
      const end = HEADER_BYTES + headBytes + bodyBytes;
      if (held.length < end) return;
      const head = JSON.parse(held.toString('utf8', HEADER_BYTES, HEADER_BYTES + headBytes));
      const body = held.subarray(HEADER_BYTES + headBytes, end);
      held = held.subarray(end);
      yield { head, body };
    }
  };
}
