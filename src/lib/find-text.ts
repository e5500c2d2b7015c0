/** The number of characters after which a search lets its caller do something else: less than a millisecond of work. */
const STEP_CHARS = 16_384;

/**
 * Where a text stands in another, from left to right and without overlaps, as `split` finds it. Knuth, Morris and Pratt: at most the sum of both lengths. Yields undefined
 * every few thousand characters, so that a caller can pause.
 *
 * SECURITY: V8's own search takes the product of both lengths for texts such as `aaaa…b` in `aaaa…`, on the main thread, where nothing can stop it.
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

/** How much of the beginning of `wanted` still stands when the character after so many does not fit. */
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
