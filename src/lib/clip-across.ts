import { type Dropped, NOTHING_DROPPED } from './clip.ts';

/**
 * Head and tail of several texts that count as one, cut at line ends where a line is short enough. The text before the
 * gap ends with a line that says how much is missing; a text inside the gap becomes empty. `dropped` was in the gap.
 */
export function clipAcross(texts: readonly string[], chars: number, dropped = NOTHING_DROPPED): string[] {
  const whole = texts.join('');
  if (whole.length <= chars) return [...texts];
  const gap = gapIn(whole, chars);
  let start = 0;
  return texts.map((text) => {
    const end = start + text.length;
    const before = whole.slice(start, Math.min(end, gap.start));
    const after = whole.slice(Math.max(start, gap.end), end);
    const note = start <= gap.start && gap.start < end ? noteOn(whole, gap, dropped) : '';
    start = end;
    return `${before}${note}${after}`;
  });
}

interface Gap {
  readonly start: number;
  readonly end: number;
}

/** The part in the middle that is left out. A cut moves to a line end, but never by more than half of its share. */
function gapIn(whole: string, chars: number): Gap {
  const share = Math.floor(chars / 2);
  const lineEnd = whole.lastIndexOf('\n', share - 1) + 1;
  const start = lineEnd > share / 2 ? lineEnd : atCharacter(whole, share);
  const earliest = whole.length - share;
  const lineStart = whole.indexOf('\n', earliest - 1) + 1;
  const isNear = lineStart > 0 && lineStart - earliest < share / 2;
  return { start, end: isNear ? lineStart : atCharacter(whole, earliest) };
}

function noteOn(whole: string, { start, end }: Gap, dropped: Dropped): string {
  const text = whole.slice(start, end);
  const isLines = text.endsWith('\n') && (start === 0 || whole[start - 1] === '\n');
  const lines = text.split('\n').length - 1 + dropped.lines;
  const chars = text.length + dropped.bytes;
  const count = (value: number) => value.toLocaleString('en-US');
  const what = isLines ? `${count(lines)} lines (${count(chars)} characters)` : `${count(chars)} characters`;
  return `${start === 0 || whole[start - 1] === '\n' ? '' : '\n'}… ${what} omitted …\n`;
}

/** Steps back from the middle of a surrogate pair. */
function atCharacter(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff ? index - 1 : index;
}
