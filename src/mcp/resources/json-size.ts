import { isUtf8 } from 'node:buffer';
import { createPacer } from '../../lib/pacer.ts';

const SLICE_BYTES = 65_536;
/** Size of the replacement character, which invalid UTF-8 becomes. */
const REPLACED_BYTES = 3;
/** Maximum expansion of a byte of text: a control character takes six bytes in JSON. */
const MOST_BYTES = 6;

/**
 * Length of the longest prefix of a text that takes at most `limitBytes` as a JSON string. SECURITY: counts byte by
 * byte and in slices. Serializing megabytes to measure them blocks the main thread for 50 ms and more.
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
