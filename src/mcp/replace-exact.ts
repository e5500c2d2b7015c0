import { HotcellError } from '../errors/hotcell-error.ts';
import { placesOf } from '../lib/find-text.ts';
import { createPacer } from '../lib/pacer.ts';
import { quotedName } from '../lib/said-inside.ts';

export interface ReplaceOptions {
  /** Path of the file, for error messages. */
  readonly path: string;
  readonly all: boolean;
  readonly largestChars: number;
  readonly signal?: AbortSignal;
}

/**
 * SECURITY: each occurrence costs two strings, and one letter may occur eight million times in a file of eight
 * megabytes.
 */
const MOST_PLACES = 100_000;

/** Size limit of the search for a near miss, which copies both texts. */
const NEAR_MISS_CHARS = 262_144;

/**
 * Replaces a text that must occur, and exactly once unless `all`. Rejects with `invalid_argument` or `file_too_large`
 * and the reason. SECURITY: it works in slices of a few milliseconds, because it runs on the main thread.
 */
export async function replaceExact(
  text: string,
  old: string,
  replacement: string,
  { path, all, largestChars, signal }: ReplaceOptions,
): Promise<{ result: string; count: number }> {
  const places = await placesIn(text, old, signal);
  const count = places.length;
  if (count === 0) throw notFound(text, old, path);
  if (count > 1 && !all) {
    const times = count > MOST_PLACES ? `more than ${MOST_PLACES}` : count;
    throw new HotcellError('invalid_argument', `${quotedName(path)}: old_text occurs ${times} times`, {
      remedy: 'Include surrounding lines to make it unique, or set replace_all.',
    });
  }
  if (count > MOST_PLACES) {
    throw new HotcellError('invalid_argument', `${quotedName(path)}: old_text occurs more than ${MOST_PLACES} times`, {
      remedy: 'Edit it with run_code.',
    });
  }
  // SECURITY: checked before the result is built. A thousand occurrences with half a megabyte each would all be in
  // memory.
  if (text.length + count * (replacement.length - old.length) > largestChars) {
    throw new HotcellError(
      'file_too_large',
      `${quotedName(path)}: the result would exceed ${largestChars} characters`,
      {
        remedy: 'Edit it with run_code.',
        data: { limitBytes: largestChars },
      },
    );
  }
  const pieces: string[] = [];
  let end = 0;
  for (const place of places) {
    pieces.push(text.slice(end, place), replacement);
    end = place + old.length;
  }
  pieces.push(text.slice(end));
  return { result: pieces.join(''), count };
}

/** Positions of the text, at most one more than allowed. */
async function placesIn(text: string, old: string, signal: AbortSignal | undefined): Promise<number[]> {
  const pause = createPacer();
  const places: number[] = [];
  for (const place of placesOf(old, text)) {
    if (place !== undefined) places.push(place);
    if (places.length > MOST_PLACES) break;
    const paused = pause();
    if (paused === undefined) continue;
    await paused;
    if (signal?.aborted === true) throw new HotcellError('cancelled', 'the edit was withdrawn');
  }
  return places;
}

/** Explains why a text was not found. Most often a model has the words right and the white space wrong. */
function notFound(text: string, old: string, path: string): HotcellError {
  return new HotcellError('invalid_argument', `${quotedName(path)}: old_text is not in the file`, {
    remedy: isNear(text, old)
      ? 'The file contains it with different whitespace or line endings. Read the file and copy the text exactly.'
      : 'Read the file first: it may have changed.',
  });
}

function isNear(text: string, old: string): boolean {
  if (text.length > NEAR_MISS_CHARS || old.length > NEAR_MISS_CHARS) return false;
  const squeezed = (value: string) => value.replace(/\s+/g, ' ').trim();
  if (squeezed(old) === '') return false;
  for (const place of placesOf(squeezed(old), squeezed(text))) if (place !== undefined) return true;
  return false;
}
