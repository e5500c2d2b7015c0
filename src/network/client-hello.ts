/**
 * What the first bytes of a connection say. `need-more`: a prefix of a ClientHello, of which nothing new is known before there are `totalBytes`. `malformed`: it begins as TLS does, but cannot be read to its end, so that
 * a server might read another name in it than a check would. `other`: not TLS.
 */
export type FirstBytes =
  | { readonly kind: 'need-more'; readonly totalBytes: number }
  | { readonly kind: 'hello'; readonly serverName: string | undefined }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'other' };

/** The most bytes that a ClientHello may have. Real ones have 300 to 8000. */
export const LONGEST_HELLO = 32_768;

const MALFORMED: FirstBytes = { kind: 'malformed' };

/** TLS 1.0 to 1.3 send handshakes in records of type 22; 20 to 24 are the types of all records. */
const HANDSHAKE_RECORD = 22;
const [LOWEST_RECORD, HIGHEST_RECORD] = [20, 24];
const LONGEST_RECORD = 16_384;
/** Programs that split a hello on purpose make a handful. */
const MOST_RECORDS = 64;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;

/**
 * Reads the server name of a ClientHello (RFC 8446, 4.1.2 and RFC 6066, 3), which may lie in several records. With Encrypted Client Hello it is the name of the
 * outer hello; unknown extensions and GREASE (RFC 8701) are skipped.
 *
 * SECURITY: strict. Whatever a server could read differently is malformed: lengths that do not add up, two lists of names, two names, bytes behind the hello in its
 * record. Bytes and records are bounded, and a caller that gets them one by one asks again only when there are `totalBytes`, so that slow pieces cost no more.
 */
export function readFirstBytes(bytes: Buffer): FirstBytes {
  if (bytes.length > 0 && !isRecordType(bytes[0]!)) return { kind: 'other' };
  if (bytes.length < 2) return { kind: 'need-more', totalBytes: bytes.length + 1 };
  if (bytes[1] !== 3) return { kind: 'other' };
  const handshake = joinRecords(bytes);
  if (handshake === undefined) return MALFORMED;
  const { payload, missing } = handshake;
  if (payload.length > 0 && payload[0] !== CLIENT_HELLO) return MALFORMED;
  const end = helloEnd(payload);
  // Until the length of the hello and the header of a record are known, each byte may decide.
  if (end === undefined) return { kind: 'need-more', totalBytes: bytes.length + 1 };
  if (end > LONGEST_HELLO || payload.length + missing > end) return MALFORMED;
  if (payload.length === end) return readHello(payload.subarray(4));
  return { kind: 'need-more', totalBytes: bytes.length + Math.max(1, missing) };
}

function isRecordType(byte: number): boolean {
  return byte >= LOWEST_RECORD && byte <= HIGHEST_RECORD;
}

/** Where the hello ends in the bytes of the handshake, once that is known. */
function helloEnd(payload: Buffer): number | undefined {
  return payload.length < 4 ? undefined : 4 + payload.readUIntBE(1, 3);
}

/** The handshake bytes of the records that the hello lies in, and how many are missing of the last one. Undefined if a record is not one of a handshake. */
function joinRecords(bytes: Buffer): { payload: Buffer; missing: number } | undefined {
  const parts: Buffer[] = [];
  let size = 0;
  let end: number | undefined;
  let at = 0;
  while (at < bytes.length && (end === undefined || size < end)) {
    if (bytes[at] !== HANDSHAKE_RECORD || parts.length === MOST_RECORDS) return undefined;
    if (at + 1 < bytes.length && bytes[at + 1] !== 3) return undefined;
    if (at + 5 > bytes.length) break;
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0 || length > LONGEST_RECORD) return undefined;
    parts.push(bytes.subarray(at + 5, at + 5 + length));
    size += parts.at(-1)!.length;
    at += 5 + length;
    end ??= helloEnd(Buffer.concat(parts));
  }
  return { payload: Buffer.concat(parts), missing: Math.max(0, at - bytes.length) };
}

function readHello(hello: Buffer): FirstBytes {
  const cursor = new Cursor(hello);
  cursor.skip(2 + 32); // version and random
  cursor.vector(1); // session id
  cursor.vector(2); // cipher suites
  cursor.vector(1); // compression methods
  if (cursor.isAtEnd) return { kind: 'hello', serverName: undefined };
  const extensions = cursor.vector(2);
  if (!cursor.isAtEnd) return MALFORMED;
  return readExtensions(extensions);
}

function readExtensions(bytes: Buffer): FirstBytes {
  const cursor = new Cursor(bytes);
  let lists = 0;
  let serverName: string | undefined;
  while (!cursor.isAtEnd && !cursor.failed) {
    const type = cursor.number(2);
    const extension = cursor.vector(2);
    if (type !== SERVER_NAME || cursor.failed) continue;
    serverName = readServerName(extension);
    lists += 1;
    if (lists > 1 || serverName === undefined) return MALFORMED;
  }
  return cursor.failed ? MALFORMED : { kind: 'hello', serverName };
}

/** The one name of the list. Undefined if there is not exactly one, or if it is not printable ASCII. */
function readServerName(bytes: Buffer): string | undefined {
  const list = new Cursor(bytes);
  const entries = new Cursor(list.vector(2));
  const type = entries.number(1);
  const name = entries.vector(2).toString('latin1');
  const isOne = list.isAtEnd && entries.isAtEnd && type === HOST_NAME;
  return isOne && /^[\x21-\x7e]{1,255}$/.test(name) ? name : undefined;
}

/** Reads numbers and vectors. Past the end it has failed: it then gives zeros and empty vectors, and is never at its end. */
class Cursor {
  failed = false;
  #at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return !this.failed && this.#at === this.#bytes.length;
  }

  number(size: 1 | 2): number {
    const bytes = this.#take(size);
    return bytes.length === 0 ? 0 : bytes.readUIntBE(0, size);
  }

  vector(sizeOfLength: 1 | 2): Buffer {
    return this.#take(this.number(sizeOfLength));
  }

  skip(size: number): void {
    this.#take(size);
  }

  #take(size: number): Buffer {
    if (this.failed || this.#at + size > this.#bytes.length) {
      this.failed = true;
      return Buffer.alloc(0);
    }
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }
}
