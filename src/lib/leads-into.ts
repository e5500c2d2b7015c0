import { readlink } from 'node:fs/promises';
import { dirname, join, parse, resolve, sep } from 'node:path';

const MOST_LINKS = 40;

/**
 * The place on a path, with links followed, at which it leads into one of these mount points; undefined if it does not.
 * What lies in them is not touched. Asks the file system once at a time.
 */
export async function leadsInto(path: string, points: ReadonlySet<string>): Promise<string | undefined> {
  if (points.size === 0) return undefined;
  let at = parse(resolve(path)).root;
  let names = namesIn(resolve(path));
  for (let links = 0; names.length > 0; ) {
    const [name = '', ...rest] = names;
    const next = name === '..' ? dirname(at) : join(at, name);
    if (points.has(next)) return join(next, ...rest);
    const target = links < MOST_LINKS ? await readlink(next).catch(() => undefined) : undefined;
    if (target === undefined) [at, names] = [next, rest];
    else {
      links += 1;
      if (parse(target).root !== '') at = parse(target).root;
      names = [...namesIn(target), ...rest];
    }
  }
  return undefined;
}

function namesIn(path: string): string[] {
  return path
    .slice(parse(path).root.length)
    .split(sep)
    .filter((name) => name !== '' && name !== '.');
}
