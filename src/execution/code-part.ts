/** Code in a question: a part that fits into a message, with positions counted in code points. */

const MAX_CODE_BYTES = 65_536;
/** Characters around the cursor. Together they fit into a message, whatever their encoding. */
const BEFORE_CURSOR = 16_000;
const AFTER_CURSOR = 4_000;

/** The whole code or, if it is too long, the part around the cursor, from the beginning of a line if possible. */
export function partAround(code: string, cursor: number): { text: string; from: number } {
  if (Buffer.byteLength(code) <= MAX_CODE_BYTES) return { text: code, from: 0 };
  const least = Math.max(0, cursor - BEFORE_CURSOR);
  const line = code.indexOf('\n', least) + 1;
  const from = least === 0 || line === 0 || line > cursor ? afterHalf(code, least) : line;
  return { text: code.slice(from, cursor + AFTER_CURSOR), from };
}

/** Moves a position out of the middle of a surrogate pair. */
function afterHalf(code: string, place: number): number {
  const unit = code.charCodeAt(place);
  return unit >= 0xdc00 && unit <= 0xdfff ? place + 1 : place;
}

/** Number of code points, the unit of the protocol. */
export function pointsIn(text: string): number {
  let points = 0;
  for (const _ of text) points += 1;
  return points;
}

/** Length of the first `points` code points in UTF-16 code units, the unit of JavaScript. */
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
