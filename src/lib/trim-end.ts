/**
 * The text without trailing characters of this set. A regular expression such as `/\/+$/` takes quadratic time if the
 * text is full of them.
 */
export function trimEndOf(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
