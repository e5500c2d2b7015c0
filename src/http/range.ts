/** The requested bytes of a file. `unsatisfiable`: the range is outside the file. */
export type WantedBytes = { readonly offset: number; readonly length: number } | 'all' | 'unsatisfiable';

/**
 * Parses the `Range` header for a file of that size. Only one range is supported: several ranges or an invalid header
 * get the whole file, as RFC 9110 allows. So does `If-Range`, because files of a sandbox have no validator (ETag).
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
