import { ownBytes } from './own-bytes.ts';

/** A text that is cut in the middle to fit into a reply. */
export interface Clipped {
  readonly text: string;
  readonly omittedChars: number;
}

/** Head and tail of a text, with a line between them that says how much is missing. Never cuts a character in two. */
export function clip(text: string, chars: number): Clipped {
  if (text.length <= chars) return { text, omittedChars: 0 };
  const headEnd = atCharacter(text, Math.ceil(chars / 2));
  const tailStart = atCharacter(text, text.length - Math.floor(chars / 2));
  const omittedChars = tailStart - headEnd;
  return {
    text: `${text.slice(0, headEnd)}\n… ${omittedChars.toLocaleString('en-US')} characters omitted …\n${text.slice(tailStart)}`,
    omittedChars,
  };
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
    const head = first.slice(0, atCharacter(first, Math.ceil(chars / 2)));
    const tail = last.slice(atCharacter(last, last.length - Math.floor(chars / 2)));
    const omittedBytes = sizeBytes - Buffer.byteLength(head) - Buffer.byteLength(tail);
    return `${head}\n… ${omittedBytes.toLocaleString('en-US')} bytes omitted …\n${tail}`;
  };
}

/** Steps back from the middle of a surrogate pair. */
function atCharacter(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff ? index - 1 : index;
}
