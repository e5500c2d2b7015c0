/** The number of characters after which the search yields: less than a millisecond of work. */
const STEP_CHARS = 16_384;

/**
 * The positions of a text in another, from left to right and without overlaps, as `split` finds them. It uses the
 * algorithm of Knuth, Morris and Pratt, in time linear in both lengths. Yields undefined every few thousand characters,
 * so that the caller can pause.
 *
 * SECURITY: V8's own search takes time proportional to the product of both lengths for texts such as `aaaa…b` in
 * `aaaa…`, and blocks the main thread meanwhile.
 */
export function* placesOf(wanted: string, text: string): Generator<number | undefined, void> {
  if (wanted === '') return;
  const back = yield* fallbacks(wanted);
  let matched = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (index % STEP_CHARS === 0) yield undefined;
    const unit = text.charCodeAt(index);
    while (matched > 0 && wanted.charCodeAt(matched) !== unit) matched = back[matched - 1] as number;
    if (wanted.charCodeAt(matched) === unit) matched += 1;
    if (matched < wanted.length) continue;
    yield index - wanted.length + 1;
    matched = 0;
  }
}

/**
 * The failure function: the length of the longest prefix of `wanted` that can continue a match after a mismatch at each
 * position.
 */
function* fallbacks(wanted: string): Generator<undefined, Int32Array> {
  const back = new Int32Array(wanted.length);
  let matched = 0;
  for (let index = 1; index < wanted.length; index += 1) {
    if (index % STEP_CHARS === 0) yield undefined;
    const unit = wanted.charCodeAt(index);
    while (matched > 0 && wanted.charCodeAt(matched) !== unit) matched = back[matched - 1] as number;
    if (wanted.charCodeAt(matched) === unit) matched += 1;
    back[index] = matched;
  }
  return back;
}
