/**
 * JSON text in which every character can be seen: controls of 8 bits, marks that turn the direction of text, characters without width and line
 * separators are written as `\uXXXX`. It means the same to every reader of JSON. SECURITY: `JSON.stringify` escapes only the controls below a space,
 * and some terminals obey U+009B as they obey `ESC [`.
 */
export function visibleJson(json: string): string {
  return json.replace(INVISIBLE, unicodeEscapes);
}

/** `\u202e`; of a character that takes two places in JavaScript, both. */
export function unicodeEscapes(characters: string): string {
  return Array.from({ length: characters.length }, (_, at) => {
    return `\\u${characters.charCodeAt(at).toString(16).padStart(4, '0')}`;
  }).join('');
}

/**
 * Controls, formats, line separators, characters that take no place although they are letters or marks (fillers of Hangul, variation selectors), and the Braille
 * pattern without dots, which looks like a space. The same class is in `said-inside.ts` and `cli/terminal-filter.ts`.
 */
const INVISIBLE = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;
