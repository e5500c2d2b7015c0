import { lstatSync, realpathSync, statSync } from 'node:fs';
import { join, parse, relative, resolve, sep } from 'node:path';
import { HotcellError } from '../errors/hotcell-error.ts';
import { isWithin } from '../lib/is-within.ts';

/**
 * Where a path that the user named leads, for a file or a folder that may not be there yet. SECURITY: whoever works in a stranger's repository may name `out` in it,
 * which the stranger made a link to `~/.ssh`. Below the current folder a link that leads out of it, or nowhere, is refused. A path elsewhere is the user's own affair.
 */
export function namedPlace(path: string, otherwise = 'Nothing was started'): string {
  const place = resolve(path);
  const names = namesBelowHere(place);
  if (names === undefined) return place;
  const root = realpathSync.native(process.cwd());
  let reached = root;
  for (const name of names) {
    reached = resolve(reached, name);
    if (lstatSync(reached, { throwIfNoEntry: false })?.isSymbolicLink() !== true) continue;
    const led = leadsTo(reached);
    if (led === undefined || !isWithin(led, root)) {
      const link = relative(root, reached);
      throw new HotcellError(
        'invalid_argument',
        `${path}: ${link} is a symbolic link that leads out of this folder. ${otherwise}`,
        { remedy: 'Choose another path, or the target of the link.' },
      );
    }
    reached = led;
  }
  return reached;
}

/**
 * The names that lead from the current folder to a place; undefined where its path does not lead through that folder. SECURITY: by device and inode. A shell's `$PWD` may lead there
 * through a link, and as a text it is another folder.
 */
function namesBelowHere(place: string): string[] | undefined {
  const here = identityAt(process.cwd());
  let { root: folder } = parse(place);
  const names = place.slice(folder.length).split(sep).filter(Boolean);
  for (const [index, name] of [...names, ''].entries()) {
    const found = identityAt(folder);
    if (found === undefined) return undefined;
    if (found === here) return names.slice(index);
    folder = join(folder, name);
  }
  return undefined;
}

function identityAt(folder: string): string | undefined {
  try {
    const { dev, ino } = statSync(folder, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

function leadsTo(link: string): string | undefined {
  try {
    return realpathSync.native(link); // The other one takes `d/..` as text.
  } catch {
    return undefined;
  }
}
