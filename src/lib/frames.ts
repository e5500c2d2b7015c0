/** Frames of the guest protocol (docs/guest-protocol.md, section 1): bytes in, frames out, bounded memory. */

export const MAX_HEAD_BYTES = 65_536;
export const MAX_BODY_BYTES = 1_048_576;
const HEADER_BYTES = 24;
const MAGIC = 0x4843;
const VERSION = 1;

/** The head is JSON from the other side: an object with a `type`, and nothing else is promised. */
export type Head = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface Frame {
  readonly head: Head;
  readonly body: Buffer;
  /** 0: control. */
  readonly stream: number;
  /** 0: unsequenced. */
  readonly sequence: number;
  readonly ack: number;
}

/** The peer sent something that the protocol does not allow. Reading cannot go on. */
export class ProtocolViolation extends Error {
  override name = 'ProtocolViolation';
}

const EMPTY = Buffer.alloc(0);

export function encodeFrame(frame: {
  head: Head;
  body?: Buffer;
  stream?: number;
  sequence?: number;
  ack?: number;
}): Buffer {
  const body = frame.body ?? EMPTY;
  const head = Buffer.from(JSON.stringify(frame.head));
  if (head.length > MAX_HEAD_BYTES) throw new ProtocolViolation(`head of ${head.length} bytes is over the limit`);
  if (body.length > MAX_BODY_BYTES) throw new ProtocolViolation(`body of ${body.length} bytes is over the limit`);
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header.writeUInt16BE(MAGIC, 0);
  header[2] = VERSION;
  header[3] = 0;
  header.writeUInt32BE(head.length, 4);
  header.writeUInt32BE(body.length, 8);
  header.writeUInt32BE(frame.stream ?? 0, 12);
  header.writeUInt32BE(frame.sequence ?? 0, 16);
  header.writeUInt32BE(frame.ack ?? 0, 20);
  return Buffer.concat([header, head, body]);
}

/** Turns chunks of any size into frames. Holds at most one frame plus the chunk it was fed. */
export function createFrameDecoder(): { feed(chunk: Buffer): Generator<Frame>; pendingBytes(): number } {
  let pending: Buffer = EMPTY;

  function* feed(chunk: Buffer): Generator<Frame> {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    while (pending.length >= HEADER_BYTES) {
      const { headBytes, end } = checkHeader(pending);
      if (pending.length < end) return;
      const frame: Frame = {
        head: parseHead(pending.subarray(HEADER_BYTES, HEADER_BYTES + headBytes)),
        body: pending.subarray(HEADER_BYTES + headBytes, end),
        stream: pending.readUInt32BE(12),
        sequence: pending.readUInt32BE(16),
        ack: pending.readUInt32BE(20),
      };
      pending = pending.subarray(end);
      yield frame;
    }
    if (pending.length >= 2 ? pending.readUInt16BE(0) !== MAGIC : pending.length === 1 && pending[0] !== MAGIC >> 8) {
      throw new ProtocolViolation('magic: this is not a frame');
    }
  }

  return { feed, pendingBytes: () => pending.length };
}

function checkHeader(bytes: Buffer): { headBytes: number; end: number } {
  if (bytes.readUInt16BE(0) !== MAGIC) throw new ProtocolViolation('magic: this is not a frame');
  if (bytes[2] !== VERSION) {
    throw new ProtocolViolation(`version: ${bytes[2]} is not spoken here, only ${VERSION}`);
  }
  if (bytes[3] !== 0) throw new ProtocolViolation(`flags: ${bytes[3]} is reserved`);
  const headBytes = bytes.readUInt32BE(4);
  const bodyBytes = bytes.readUInt32BE(8);
  if (headBytes < 2 || headBytes > MAX_HEAD_BYTES) {
    throw new ProtocolViolation(`head length: ${headBytes} is outside 2 to ${MAX_HEAD_BYTES}`);
  }
  if (bodyBytes > MAX_BODY_BYTES) throw new ProtocolViolation(`body length: ${bodyBytes} is over ${MAX_BODY_BYTES}`);
  return { headBytes, end: HEADER_BYTES + headBytes + bodyBytes };
}

function parseHead(bytes: Buffer): Head {
  let head: unknown;
  try {
    head = JSON.parse(UTF8.decode(bytes));
  } catch {
    throw new ProtocolViolation('head: not JSON in UTF-8');
  }
  if (typeof head !== 'object' || head === null || Array.isArray(head) || typeof (head as Head).type !== 'string') {
    throw new ProtocolViolation('head: not an object with a type');
  }
  return head as Head;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });
