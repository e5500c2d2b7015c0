/** Code as a question carries it: a part that is small enough, and places in it counted in code points. */

const MAX_CODE_BYTES = 65_536;
/** Together at most that, whatever the characters. */
const BEFORE_CURSOR = 16_000;
const AFTER_CURSOR = 4_000;

/** The code whole, or of code that is too long the part around the cursor, from the beginning of a line where there is one. */
export function partAround(code: string, cursor: number): { text: string; from: number } {
  if (Buffer.byteLength(code) <= MAX_CODE_BYTES) return { text: code, from: 0 };
  const least = Math.max(0, cursor - BEFORE_CURSOR);
  const line = code.indexOf('\n', least) + 1;
  const from = least === 0 || line === 0 || line > cursor ? afterHalf(code, least) : line;
  return { text: code.slice(from, cursor + AFTER_CURSOR), from };
}

/** Not in the middle of a character that JavaScript counts as two. */
function afterHalf(code: string, place: number): number {
  const unit = code.charCodeAt(place);
  return unit >= 0xdc00 && unit <= 0xdfff ? place + 1 : place;
}

/** Code points, which is how the protocol counts. */
export function pointsIn(text: string): number {
  let points = 0;
  for (const _ of text) points += 1;
  return points;
}

/** The other way: how long the first `points` code points are in JavaScript. */
export function unitsOf(text: string, points: number): number {
  let units = 0;
  let left = points;
  for (const point of text) {
    if (left <= 0) break;
    left -= 1;
    units += point.length;
  }
  return units;
}
