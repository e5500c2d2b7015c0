import { HotcellError } from '../errors/hotcell-error.ts';

/** Replaces a text that must be there, and once unless `all`. Throws `invalid_argument` saying why not. */
export function replaceExact(
  text: string,
  old: string,
  replacement: string,
  { path, all }: { path: string; all: boolean },
): { result: string; count: number } {
  const parts = text.split(old);
  const count = parts.length - 1;
  if (count === 0) throw notFound(text, old, path);
  if (count > 1 && !all) {
    throw new HotcellError('invalid_argument', `${path}: old_text is there ${count} times`, {
      remedy: 'Take more of the lines around it, or set replace_all.',
    });
  }
  return { result: parts.join(replacement), count };
}

/** Most often a model has the words and not the spaces. */
function notFound(text: string, old: string, path: string): HotcellError {
  const squeezed = (value: string) => value.replace(/\s+/g, ' ').trim();
  const isNear = squeezed(old) !== '' && squeezed(text).includes(squeezed(old));
  return new HotcellError('invalid_argument', `${path}: old_text is not in the file`, {
    remedy: isNear
      ? 'It is there with other spaces or line ends. Read the file and copy them exactly.'
      : 'Read the file first: it may have changed.',
  });
}
