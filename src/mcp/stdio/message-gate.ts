import { Transform, type Writable } from 'node:stream';

/** Larger content goes in pieces, by load_file, or by HTTP. */
export const LARGEST_MESSAGE_BYTES = 32 * 1_048_576;
/** What may wait for a client that does not read. More, and no further message of its is taken. */
const MOST_WAITING_BYTES = 8 * 1_048_576;
const NEWLINE = 0x0a;
const END_BYTES = 1_024;
const INVALID_REQUEST = -32_600;

/**
 * Between a client's bytes and the transport: passes whole lines on, answers one that is too large with an error instead of holding it, and stops reading from a client
 * that does not read. However much comes, it holds one message at most.
 */
export function createMessageGate(replies: Writable, refused: (reason: string) => void): Transform {
  let pieces: Buffer[] = [];
  let size = 0;
  let beginning: Buffer | undefined;
  let end = Buffer.alloc(0);

  /** Of a line that is refused only its two ends are kept: its id stands in one of them. */
  function drop(piece: Buffer): void {
    beginning ??= Buffer.concat([...pieces, piece]).subarray(0, END_BYTES);
    end = Buffer.concat([end, ...pieces.slice(-1), piece.subarray(-END_BYTES)]).subarray(-END_BYTES);
    pieces = [];
  }

  function refuse(): void {
    const id = idOf(beginning!.toString('utf8'), end.toString('utf8'));
    refused('too large');
    const message = `The message has ${size} bytes; at most ${LARGEST_MESSAGE_BYTES} are taken. Send large content in pieces (write_file with mode append), or let load_file fetch it.`;
    if (id !== undefined) {
      replies.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code: INVALID_REQUEST, message } })}\n`);
    }
    beginning = undefined;
    end = Buffer.alloc(0);
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let rest = chunk;
      while (rest.length > 0) {
        const newline = rest.indexOf(NEWLINE);
        const piece = newline === -1 ? rest : rest.subarray(0, newline + 1);
        rest = rest.subarray(piece.length);
        size += piece.length;
        if (size > LARGEST_MESSAGE_BYTES) drop(piece);
        else pieces.push(piece);
        if (newline === -1) continue;
        if (size > LARGEST_MESSAGE_BYTES) refuse();
        else for (const part of pieces) this.push(part);
        pieces = [];
        size = 0;
      }
      if (replies.writableLength <= MOST_WAITING_BYTES) done();
      else replies.once('drain', done);
    },
  });
}

const VALUE = '("(?:[^"\\\\]|\\\\.){0,200}"|-?\\d{1,20})';
const AT_BEGINNING = new RegExp(`^\\s*\\{\\s*(?:"jsonrpc"\\s*:\\s*"2\\.0"\\s*,\\s*)?"id"\\s*:\\s*${VALUE}\\s*[,}]`);
const AT_END = new RegExp(`"id"\\s*:\\s*${VALUE}\\s*(?:,\\s*"jsonrpc"\\s*:\\s*"2\\.0"\\s*)?\\}\\s*$`);

/** The id of a request of which only both ends are known: every client writes it in one of them. */
function idOf(beginning: string, end: string): string | number | undefined {
  const found = AT_BEGINNING.exec(beginning)?.[1] ?? AT_END.exec(end)?.[1];
  return found === undefined ? undefined : (JSON.parse(found) as string | number);
}
