import { createPacer } from '../../../lib/pacer.ts';
import { Failure } from './failures.ts';

const SLICE_CHARS = 65_536;
const PAD = 0x3d;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/**
 * Decodes base64 with white space anywhere. Content over the limit is counted to its end but not kept. SECURITY: it
 * works in slices of a few milliseconds: with a blank after each character, 50 MB would block the server for seconds.
 */
export async function decodedContent(base64: string, limitBytes: number): Promise<Buffer> {
  const pause = createPacer();
  const decoder = createDecoder(limitBytes);
  for (let start = 0; start < base64.length; start += SLICE_CHARS) {
    decoder.add(base64, start, Math.min(start + SLICE_CHARS, base64.length));
    await pause();
  }
  return decoder.end();
}

function createDecoder(limitBytes: number) {
  const pieces: Buffer[] = [];
  /** Number of characters that are not white space. */
  let chars = 0;
  let padding = 0;
  let isValid = true;
  /** Bits that do not make a byte yet. */
  let bits = 0;

  const sizeBytes = () => Math.floor((chars * 3) / 4) - Math.min(padding, 2);

  return {
    add(text: string, start: number, end: number): void {
      const piece = Buffer.allocUnsafe(end - start);
      let size = 0;
      for (let index = start; index < end; index += 1) {
        const code = text.charCodeAt(index);
        const value = SEXTETS[code] ?? -1;
        if (value === -1 && isSpace(code)) continue;
        chars += 1;
        if (code === PAD) padding += 1;
        else if (value === -1 || padding > 0) isValid = false;
        else {
          bits = ((bits << 6) | value) & 0xffffff;
          const have = chars & 3; // the first of four characters alone makes no byte
          if (have !== 1) piece[size++] = bits >> (have === 2 ? 4 : have === 3 ? 2 : 0);
        }
      }
      if (isValid && sizeBytes() <= limitBytes) pieces.push(piece.subarray(0, size));
      else pieces.length = 0;
    },
    end(): Buffer {
      if (sizeBytes() > limitBytes) {
        const message = `the file has ${sizeBytes()} bytes, and ${limitBytes} are the limit`;
        throw new Failure('upload_too_large', message, { sizeBytes: sizeBytes() });
      }
      if (!isValid || padding > 2 || chars % 4 !== 0) {
        throw new Failure('invalid_content', 'content_base64 is not base64');
      }
      return Buffer.concat(pieces);
    },
  };
}

/** Sextet of each character code, or -1. */
const SEXTETS = Int8Array.from({ length: 256 }, (_, code) => ALPHABET.indexOf(String.fromCharCode(code)));

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d) || (code >= 0xa0 && /\s/.test(String.fromCharCode(code)));
}
