/**
 * The same text with memory of its own. SECURITY: a part of a string keeps the whole string alive, and a text that was
 * joined from many parts keeps each of them, at about fifty times its length. Whatever is kept or queued by its length
 * must be such a copy.
 */
export function ownString(text: string): string {
  return Buffer.from(text).toString();
}
