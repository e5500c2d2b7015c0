import type { Representation } from '../execution/result.ts';
import { measureJson } from '../lib/json-limits.ts';
import { isTextType } from '../lib/text-type.ts';
import { DISPLAY_LIMITS, isShallow, type MimeBundle } from './nbformat.ts';

const MEDIA_TYPE = /^[a-z0-9]+\/[a-z0-9.+-]+$/i;

/** Memory of all JSON values of a notebook, besides the text of their strings: a million numbers, or 100,000 names. */
const STRUCTURE_BYTES = 32 * 1_048_576;

/**
 * Representations in the form of a notebook: JSON as a value, text as text, everything else in base64. Unreadable ones
 * are left out.
 */
export type ToMimeBundle = (representations: readonly Representation[]) => MimeBundle;

/**
 * Makes the bundles of one notebook. SECURITY: JSON comes from the sandbox, and is parsed in one turn of the event
 * loop: a display of 340,000 different names takes half a second. Its structure is limited, for each display and for
 * all of them together; what is beyond is left out.
 */
export function createMimeBundles(): ToMimeBundle {
  let left = STRUCTURE_BYTES;
  const jsonIn = (data: Buffer): unknown => {
    const text = data.toString('utf8');
    const { excess, structureBytes } = measureJson(text, DISPLAY_LIMITS);
    if (excess !== undefined || structureBytes > left) return undefined;
    left -= structureBytes;
    return parsedOrUndefined(text);
  };
  return (representations) => bundleOf(representations, jsonIn);
}

function bundleOf(representations: readonly Representation[], jsonIn: (data: Buffer) => unknown): MimeBundle {
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

function parsedOrUndefined(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    // SECURITY: one deeply nested display must not make the whole notebook unreadable.
    return isShallow(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
