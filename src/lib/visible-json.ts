import { createEscaper } from './escape-characters.ts';

/**
 * JSON text with only visible characters: C1 controls, bidirectional marks, zero-width characters and line separators
 * are written as `\uXXXX`. It parses to the same value. SECURITY: `JSON.stringify` escapes only the C0 controls, and
 * some terminals treat U+009B like `ESC [`.
 *
 * The class: control and format characters, line separators, letters and marks without width (Hangul fillers, variation
 * selectors), and the blank Braille pattern, which looks like a space. The same class is in `said-inside.ts` and
 * `cli/terminal-filter.ts`.
 */
export const visibleJson = createEscaper(/[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u);
