/** Replaces the characters of a class by escapes such as `\u202e`; a character of two code units becomes two escapes. */
export type Escaper = (text: string) => string;

/**
 * Creates an escaper for the characters that `pattern` matches. SECURITY: text from a sandbox can consist of such
 * characters alone, and a callback for each took 0.7 µs on the main thread: 0.9 s for a megabyte. So a character is
 * looked up in a table, in which the pattern is asked about each character once, and the escapes are written to a buffer.
 */
export function createEscaper(pattern: RegExp): Escaper {
  const kinds = new Uint8Array(0x11_0000);

  function isEscaped(point: number): boolean {
    if (kinds[point] === UNKNOWN) kinds[point] = pattern.test(String.fromCodePoint(point)) ? ESCAPED : SHOWN;
    return kinds[point] === ESCAPED;
  }

  return (text) => {
    const { hiddenUnits, isNarrow } = measured(text, isEscaped);
    if (hiddenUnits === 0) return text;
    const size = text.length + hiddenUnits * (ESCAPE_UNITS - 1);
    const made = isNarrow ? Buffer.allocUnsafe(size) : new Uint16Array(size);
    let end = 0;
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      const point = isSurrogate(unit) ? text.codePointAt(at)! : unit;
      const isHidden = isEscaped(point);
      end = isHidden ? writeEscape(made, end, unit) : writeUnit(made, end, unit);
      if (point <= 0xffff) continue;
      at += 1;
      const second = text.charCodeAt(at);
      end = isHidden ? writeEscape(made, end, second) : writeUnit(made, end, second);
    }
    return Buffer.from(made.buffer, made.byteOffset, made.byteLength).toString(isNarrow ? 'latin1' : 'utf16le');
  };
}

const UNKNOWN = 0;
const SHOWN = 1;
const ESCAPED = 2;
const ESCAPE_UNITS = '\\uXXXX'.length;

/** The number of code units to escape, and whether each of the others takes one byte. */
function measured(
  text: string,
  isEscaped: (point: number) => boolean,
): { readonly hiddenUnits: number; readonly isNarrow: boolean } {
  let hiddenUnits = 0;
  let isNarrow = true;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    const point = isSurrogate(unit) ? text.codePointAt(at)! : unit;
    const units = point > 0xffff ? 2 : 1;
    if (isEscaped(point)) hiddenUnits += units;
    else if (point > 0xff) isNarrow = false;
    at += units - 1;
  }
  return { hiddenUnits, isNarrow };
}

function isSurrogate(unit: number): boolean {
  return (unit & 0xf800) === 0xd800;
}

function writeUnit(made: Uint8Array | Uint16Array, at: number, unit: number): number {
  made[at] = unit;
  return at + 1;
}

function writeEscape(made: Uint8Array | Uint16Array, at: number, unit: number): number {
  made[at] = BACKSLASH;
  made[at + 1] = LETTER_U;
  made[at + 2] = DIGITS[unit >> 12]!;
  made[at + 3] = DIGITS[(unit >> 8) & 0xf]!;
  made[at + 4] = DIGITS[(unit >> 4) & 0xf]!;
  made[at + 5] = DIGITS[unit & 0xf]!;
  return at + ESCAPE_UNITS;
}

const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const DIGITS = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));
