/** The text without those characters at its end. A regular expression such as `/\/+$/` takes quadratic time for a text that is full of them. */
export function trimEndOf(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
