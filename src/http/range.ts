/** Which bytes of a file are wanted. `unsatisfiable`: none of those are there. */
export type WantedBytes = { readonly offset: number; readonly length: number } | 'all' | 'unsatisfiable';

/**
 * The header `Range` for a file of that size. One range only: of several, or of what is not understood, all is given, as RFC 9110 allows. With
 * `If-Range` too: a file of a sandbox has no mark by which it could be told to be the same.
 */
export function wantedBytes(range: string | undefined, ifRange: string | undefined, sizeBytes: number): WantedBytes {
  const match = range?.match(/^bytes=(\d{0,15})-(\d{0,15})$/i);
  if (match === null || match === undefined || ifRange !== undefined) return 'all';
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return 'all';
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? 'unsatisfiable' : { offset: sizeBytes - length, length };
  }
  const offset = Number(first);
  if (last !== '' && Number(last) < offset) return 'all';
  if (offset >= sizeBytes) return 'unsatisfiable';
  const end = last === '' ? sizeBytes : Math.min(Number(last) + 1, sizeBytes);
  return { offset, length: end - offset };
}
