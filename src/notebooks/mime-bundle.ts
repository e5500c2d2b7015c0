import type { Representation } from '../execution/result.ts';
import { excessIn } from '../lib/json-limits.ts';
import { isTextType } from '../lib/text-type.ts';
import { isShallow, type MimeBundle, NOTEBOOK_LIMITS } from './nbformat.ts';

const MEDIA_TYPE = /^[a-z0-9]+\/[a-z0-9.+-]+$/i;

/**
 * Representations in the form of a notebook: JSON as a value, text as text, everything else in base64. Unreadable ones
 * are left out.
 */
export function mimeBundle(representations: readonly Representation[]): MimeBundle {
  const entries = representations.flatMap(({ mediaType, data }): [string, unknown][] => {
    // SECURITY: media types come from the sandbox, and Jupyter refuses a whole file with one invalid name.
    if (!MEDIA_TYPE.test(mediaType)) return [];
    if (isJson(mediaType)) {
      const value = jsonIn(data);
      return value === undefined ? [] : [[mediaType, value]];
    }
    return [[mediaType, isTextType(mediaType) ? data.toString('utf8') : data.toString('base64')]];
  });
  return Object.fromEntries(entries);
}

function isJson(mediaType: string): boolean {
  return mediaType === 'application/json' || mediaType.endsWith('+json');
}

function jsonIn(data: Buffer): unknown {
  try {
    const text = data.toString('utf8');
    if (excessIn(text, NOTEBOOK_LIMITS) !== undefined) return undefined;
    const value: unknown = JSON.parse(text);
    // SECURITY: one deeply nested display must not make the whole notebook unreadable.
    return isShallow(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
