import { ownBytes } from './own-bytes.ts';
import { ownString } from './own-string.ts';

/** A text that is cut in the middle to fit into a reply. */
export interface Clipped {
  readonly text: string;
  readonly omittedChars: number;
}

/** What was left out of the middle of a text before it came here. */
export interface Dropped {
  readonly bytes: number;
  readonly lines: number;
}

export const NOTHING_DROPPED: Dropped = { bytes: 0, lines: 0 };

/**
 * Head and tail of a text, cut at line ends where it has lines, with a line between them that says how much is missing.
 * Never cuts a character in two. `dropped` was in the part that is cut out.
 */
export function clip(text: string, chars: number, dropped = NOTHING_DROPPED): Clipped {
  if (text.length <= chars) return { text, omittedChars: 0 };
  const head = headOf(text.slice(0, atCharacter(text, Math.ceil(chars / 2))));
  const tail = tailOf(text.slice(atCharacter(text, text.length - Math.floor(chars / 2))));
  const middle = text.slice(head.length, text.length - tail.length);
  const omitted = `${(middle.length + dropped.bytes).toLocaleString('en-US')} characters`;
  const isWhole = head.endsWith('\n') && middle.endsWith('\n');
  const lines = linesIn(middle) + dropped.lines;
  const counted = isWhole && lines > 1 ? `${lines.toLocaleString('en-US')} lines (${omitted})` : omitted;
  return { text: joined(head, counted, tail), omittedChars: middle.length };
}

/** The maximum number of UTF-8 bytes per UTF-16 code unit. */
const BYTES_PER_CHAR = 3;

/**
 * Like `clip`, for text in UTF-8. SECURITY: decodes only the bytes that it shows. A slice of a decoded string keeps the
 * whole string alive, and a program can display megabytes a thousand times.
 */
export function clipDecoded(data: Buffer, chars: number): string {
  return clipLater(data, chars)();
}

/**
 * Like `clipDecoded`, in two steps: copies the bytes that it shows, and returns a function that decodes them. The
 * function keeps nothing else of `data` alive.
 */
export function clipLater(data: Buffer, chars: number): () => string {
  const partBytes = BYTES_PER_CHAR * (Math.ceil(chars / 2) + 1);
  const sizeBytes = data.length;
  if (sizeBytes <= 2 * partBytes) {
    const whole = ownBytes(data);
    return () => clip(whole.toString('utf8'), chars).text;
  }
  const [start, end] = [ownBytes(data.subarray(0, partBytes)), ownBytes(data.subarray(sizeBytes - partBytes))];
  return () => {
    const [first, last] = [start.toString('utf8'), end.toString('utf8')];
    const head = headOf(first.slice(0, atCharacter(first, Math.ceil(chars / 2))));
    const tail = tailOf(last.slice(atCharacter(last, last.length - Math.floor(chars / 2))));
    const omittedBytes = sizeBytes - Buffer.byteLength(head) - Buffer.byteLength(tail);
    return joined(head, `${omittedBytes.toLocaleString('en-US')} bytes`, tail);
  };
}

function joined(head: string, omitted: string, tail: string): string {
  return ownString(`${head}${head.endsWith('\n') ? '' : '\n'}… ${omitted} omitted …\n${tail}`);
}

/** The text up to its last line end, unless that leaves less than half of it. */
function headOf(text: string): string {
  const end = text.lastIndexOf('\n') + 1;
  return end >= text.length / 2 ? text.slice(0, end) : text;
}

/** The text after its first line end, unless that leaves less than half of it. */
function tailOf(text: string): string {
  const start = text.indexOf('\n') + 1;
  return start <= text.length / 2 ? text.slice(start) : text;
}

function linesIn(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}

/** Steps back from the middle of a surrogate pair. */
function atCharacter(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff ? index - 1 : index;
}
