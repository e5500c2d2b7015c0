/** A text cut in the middle to what a reply may hold. */
export interface Clipped {
  readonly text: string;
  readonly omittedChars: number;
}

/** Head and tail of a text, with a line between them that says how much is missing. Never cuts a character in two. */
export function clip(text: string, chars: number): Clipped {
  if (text.length <= chars) return { text, omittedChars: 0 };
  const headEnd = atCharacter(text, Math.ceil(chars / 2));
  const tailStart = atCharacter(text, text.length - Math.floor(chars / 2));
  const omittedChars = tailStart - headEnd;
  return {
    text: `${text.slice(0, headEnd)}\n… ${omittedChars.toLocaleString('en-US')} characters left out …\n${text.slice(tailStart)}`,
    omittedChars,
  };
}

/** Steps back from the middle of a surrogate pair. */
function atCharacter(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff ? index - 1 : index;
}
