/** Maximum size of a message. Larger content is sent in parts, by load_file, or by HTTP. */
export const LARGEST_MESSAGE_BYTES = 32 * 1_048_576;

const NEWLINE = 0x0a;
export const END_BYTES = 1_024;

export interface LineReader {
  push(chunk: Buffer): void;
}

/**
 * Splits bytes into lines. A line that is too large is not kept, except its size and the id of its request, which is at
 * one of its ends. At most one message is in memory.
 */
export function createLineReader(
  onLine: (line: string) => void,
  onTooLarge: (id: string | number | undefined, sizeBytes: number) => void,
  largestBytes: number = LARGEST_MESSAGE_BYTES,
): LineReader {
  let pieces: Buffer[] = [];
  let size = 0;
  let beginning: Buffer | undefined;
  let end = Buffer.alloc(0);

  function add(piece: Buffer): void {
    size += piece.length;
    if (size <= largestBytes) {
      pieces.push(piece);
      return;
    }
    if (beginning === undefined) {
      const all = Buffer.concat([...pieces, piece]);
      beginning = Buffer.from(all.subarray(0, END_BYTES));
      end = Buffer.from(all.subarray(-END_BYTES));
      pieces = [];
    } else end = Buffer.concat([end, piece.subarray(-END_BYTES)]).subarray(-END_BYTES);
  }

  function finish(): void {
    if (beginning === undefined) onLine(Buffer.concat(pieces).toString('utf8'));
    else onTooLarge(idAtEnds(beginning.toString('utf8'), end.toString('utf8')), size);
    pieces = [];
    size = 0;
    beginning = undefined;
  }

  return {
    push(chunk) {
      let start = 0;
      for (let newline = chunk.indexOf(NEWLINE); newline !== -1; newline = chunk.indexOf(NEWLINE, start)) {
        add(chunk.subarray(start, newline));
        start = newline + 1;
        finish();
      }
      if (start < chunk.length) add(chunk.subarray(start));
    },
  };
}

const VALUE = '("(?:[^"\\\\]|\\\\.){0,200}"|-?\\d{1,15})';
const AT_BEGINNING = new RegExp(`^\\s*\\{\\s*(?:"jsonrpc"\\s*:\\s*"2\\.0"\\s*,\\s*)?"id"\\s*:\\s*${VALUE}\\s*[,}]`);
const AT_END = new RegExp(`"id"\\s*:\\s*${VALUE}\\s*(?:,\\s*"jsonrpc"\\s*:\\s*"2\\.0"\\s*)?\\}\\s*$`);

/** Finds the id of a request of which only both ends are known. */
export function idAtEnds(beginning: string, end: string): string | number | undefined {
  const found = AT_BEGINNING.exec(beginning)?.[1] ?? AT_END.exec(end)?.[1];
  try {
    return found === undefined ? undefined : (JSON.parse(found) as string | number);
  } catch {
    return undefined; // `007`, or an escape that JSON does not have
  }
}
