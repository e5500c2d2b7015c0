import { wholeCharacters } from '../../../lib/whole-characters.ts';

const MARK = Buffer.from('\n… omitted …\n');

/** The beginning and the end of a text in at most `limitBytes` of UTF-8. No character is split. */
export function clipBytes(text: string, limitBytes: number): { text: string; isCut: boolean } {
  const bytes = Buffer.from(text);
  if (bytes.length <= limitBytes) return { text, isCut: false };
  const room = limitBytes - MARK.length;
  if (room < 2) return { text: endOf(bytes, limitBytes).toString('utf8'), isCut: true };
  const beginning = bytes.subarray(0, Math.floor(room / 2));
  const kept = [beginning.subarray(0, wholeCharacters(beginning)), MARK, endOf(bytes, Math.ceil(room / 2))];
  return { text: Buffer.concat(kept).toString('utf8'), isCut: true };
}

function endOf(bytes: Buffer, count: number): Buffer {
  let start = bytes.length - count;
  while (start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start);
}
