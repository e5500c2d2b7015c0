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
 * The inside of a character class: formats, line separators, characters that take no place although they are letters or marks (fillers of Hangul, variation
 * selectors), and the Braille pattern without dots, which looks like a space.
 */
export const INVISIBLE_CLASS = '\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800';

const INVISIBLE = new RegExp(`[\\x7f-\\x9f${INVISIBLE_CLASS}]`, 'gu');
