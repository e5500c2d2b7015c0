/** Frames of the guest protocol (docs/guest-protocol.md, section 1): bytes in, frames out, bounded memory. */

export const MAX_HEAD_BYTES = 65_536;
export const MAX_BODY_BYTES = 1_048_576;
/** The maximum nesting of objects and arrays, including the head itself. */
export const MAX_HEAD_DEPTH = 64;
export const MAX_FRAME_BYTES = 24 + MAX_HEAD_BYTES + MAX_BODY_BYTES;
/** Sequence numbers and acknowledgements do not wrap; a channel ends before that. */
export const MAX_SEQUENCE = 0xffff_ffff;
const HEADER_BYTES = 24;
const MAGIC = 0x4843;
const VERSION = 1;

/** The head is JSON from the peer. Only this is validated: it is an object with a `type`. */
export type Head = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface Frame {
  readonly head: Head;
  readonly body: Buffer;
  /** The stream; 0 is the control stream. */
  readonly stream: number;
  /** The sequence number; 0 for an unsequenced frame. */
  readonly sequence: number;
  readonly ack: number;
  /** Size of the whole frame on the wire, which is its cost in credit. */
  readonly sizeBytes: number;
}

/** The peer violated the protocol. The channel cannot be read any further. */
export class ProtocolViolation extends Error {
  override name = 'ProtocolViolation';
}

const EMPTY = Buffer.alloc(0);

/** `memoryOf` returns memory for an encoded frame of that size, whose contents do not matter; it may be larger. */
export function encodeFrame(
  frame: {
    head: Head;
    body?: Buffer;
    stream?: number;
    sequence?: number;
    ack?: number;
  },
  memoryOf: (sizeBytes: number) => Buffer = ownMemory,
): Buffer {
  const body = frame.body ?? EMPTY;
  const head = JSON.stringify(frame.head);
  const headBytes = Buffer.byteLength(head);
  if (headBytes > MAX_HEAD_BYTES) throw new ProtocolViolation(`head length: ${headBytes} is over ${MAX_HEAD_BYTES}`);
  if (body.length > MAX_BODY_BYTES)
    throw new ProtocolViolation(`body length: ${body.length} is over ${MAX_BODY_BYTES}`);
  const sizeBytes = HEADER_BYTES + headBytes + body.length;
  const encoded = memoryOf(sizeBytes).subarray(0, sizeBytes);
  encoded.writeUInt16BE(MAGIC, 0);
  encoded[2] = VERSION;
  encoded[3] = 0;
  encoded.writeUInt32BE(headBytes, 4);
  encoded.writeUInt32BE(body.length, 8);
  encoded.writeUInt32BE(frame.stream ?? 0, 12);
  encoded.writeUInt32BE(frame.sequence ?? 0, 16);
  encoded.writeUInt32BE(frame.ack ?? 0, 20);
  encoded.write(head, HEADER_BYTES);
  encoded.set(body, HEADER_BYTES + headBytes);
  return encoded;
}

/**
 * SECURITY: a small buffer from Node's pool keeps its whole slab of 8 kB alive while the frame is queued, and a hostile
 * peer can make thousands wait.
 */
export function ownMemory(sizeBytes: number): Buffer {
  return Buffer.allocUnsafeSlow(sizeBytes);
}

/** Sets the acknowledgement, the only field that changes when a frame is sent again. */
export function setAck(encoded: Buffer, ack: number): Buffer {
  encoded.writeUInt32BE(ack, 20);
  return encoded;
}

/**
 * Decodes chunks of any size into frames. Holds at most one frame, and copies each byte once, however small the chunks
 * are.
 */
export function createFrameDecoder(): { feed(chunk: Buffer): Generator<Frame>; pendingBytes(): number } {
  const header = Buffer.alloc(HEADER_BYTES);
  let frame = header;
  let filled = 0;

  function* feed(chunk: Buffer): Generator<Frame> {
    for (let offset = 0; offset < chunk.length; ) {
      const taken = chunk.copy(frame, filled, offset);
      filled += taken;
      offset += taken;
      if (filled < frame.length) break;
      if (frame === header) {
        frame = Buffer.allocUnsafe(checkHeader(header));
        header.copy(frame);
        continue;
      }
      const whole = parseFrame(frame);
      frame = header;
      filled = 0;
      yield whole;
    }
    checkMagic(filled);
  }

  /** Rejects wrong magic bytes before the whole header has arrived. */
  function checkMagic(known: number): void {
    if ((known > 0 && frame[0] !== MAGIC >> 8) || (known > 1 && frame[1] !== (MAGIC & 0xff))) {
      throw new ProtocolViolation('magic: this is not a frame');
    }
  }

  return { feed, pendingBytes: () => filled };
}

function parseFrame(bytes: Buffer): Frame {
  const bodyAt = HEADER_BYTES + bytes.readUInt32BE(4);
  return {
    head: parseHead(bytes.subarray(HEADER_BYTES, bodyAt)),
    body: bytes.subarray(bodyAt),
    stream: bytes.readUInt32BE(12),
    sequence: bytes.readUInt32BE(16),
    ack: bytes.readUInt32BE(20),
    sizeBytes: bytes.length,
  };
}

/** Validates a complete header and returns the length of the whole frame. */
function checkHeader(bytes: Buffer): number {
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
  return HEADER_BYTES + headBytes + bodyBytes;
}

function parseHead(bytes: Buffer): Head {
  if (isTooDeep(bytes)) throw new ProtocolViolation(`head: nested deeper than ${MAX_HEAD_DEPTH}`);
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

/**
 * SECURITY: code that reads or writes a head, here and in the guest, may recurse once per level, so a hostile peer
 * could overflow the stack. For invalid JSON the result does not matter, since that is rejected anyway.
 */
function isTooDeep(bytes: Buffer): boolean {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (isText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      depth += 1;
      if (depth > MAX_HEAD_DEPTH) return true;
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth -= 1;
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** `ignoreBOM` keeps a byte order mark in the text, so that JSON rejects it, as the guest does. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
