import { isUtf8 } from 'node:buffer';
import { createPacer } from '../../lib/pacer.ts';

const SLICE_BYTES = 65_536;
/** A character that is no part of UTF-8 becomes a replacement character, of three bytes. */
const REPLACED_BYTES = 3;
/** The most that a byte of text can take: a control character is six bytes in JSON. */
const MOST_BYTES = 6;

/**
 * How many bytes of a text, from its first, take at most `limitBytes` as a string of JSON. SECURITY: counted byte by
 * byte and in slices. To write megabytes as JSON in order to measure them stops the main thread for 50 ms and more.
 */
export async function fittingInJson(text: Buffer, limitBytes: number): Promise<number> {
  if (text.length * MOST_BYTES <= limitBytes) return text.length;
  const costs = isUtf8(text) ? COSTS : COSTS_WITH_REPLACEMENTS;
  const pause = createPacer();
  let left = limitBytes;
  for (let start = 0; start < text.length; start += SLICE_BYTES) {
    const end = Math.min(text.length, start + SLICE_BYTES);
    for (let index = start; index < end; index += 1) {
      left -= costs[text[index]!]!;
      if (left < 0) return index;
    }
    await pause();
  }
  return text.length;
}

const COSTS = costsOfBytes(1);
const COSTS_WITH_REPLACEMENTS = costsOfBytes(REPLACED_BYTES);

function costsOfBytes(beyondAscii: number): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) =>
    byte < 0x80 ? JSON.stringify(String.fromCharCode(byte)).length - 2 : beyondAscii,
  );
}
