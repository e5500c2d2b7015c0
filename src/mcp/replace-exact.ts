import { HotcellError } from '../errors/hotcell-error.ts';
import { placesOf } from '../lib/find-text.ts';
import { quotedName } from '../lib/said-inside.ts';

export interface ReplaceOptions {
  /** For errors. */
  readonly path: string;
  readonly all: boolean;
  readonly largestChars: number;
}

/** Replaces a text that must be there, and once unless `all`. Throws `invalid_argument` or `file_too_large` saying why not. */
export function replaceExact(
  text: string,
  old: string,
  replacement: string,
  { path, all, largestChars }: ReplaceOptions,
): { result: string; count: number } {
  let count = 0;
  for (const _ of placesOf(old, text)) count += 1;
  if (count === 0) throw notFound(text, old, path);
  if (count > 1 && !all) {
    throw new HotcellError('invalid_argument', `${quotedName(path)}: old_text is there ${count} times`, {
      remedy: 'Take more of the lines around it, or set replace_all.',
    });
  }
  // SECURITY: before it is made. A thousand places and half a megabyte for each would be held in memory whole.
  if (text.length + count * (replacement.length - old.length) > largestChars) {
    throw new HotcellError('file_too_large', `${quotedName(path)}: would have more than ${largestChars} characters`, {
      remedy: 'Change it with run_code.',
      data: { limitBytes: largestChars },
    });
  }
  const pieces: string[] = [];
  let end = 0;
  for (const place of placesOf(old, text)) {
    pieces.push(text.slice(end, place), replacement);
    end = place + old.length;
  }
  return { result: [...pieces, text.slice(end)].join(''), count };
}

/** Most often a model has the words and not the spaces. */
function notFound(text: string, old: string, path: string): HotcellError {
  const squeezed = (value: string) => value.replace(/\s+/g, ' ').trim();
  const isNear = squeezed(old) !== '' && !placesOf(squeezed(old), squeezed(text)).next().done;
  return new HotcellError('invalid_argument', `${quotedName(path)}: old_text is not in the file`, {
    remedy: isNear
      ? 'It is there with other spaces or line ends. Read the file and copy them exactly.'
      : 'Read the file first: it may have changed.',
  });
}
