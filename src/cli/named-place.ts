import { lstatSync, realpathSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';
import { HotcellError } from '../errors/hotcell-error.ts';
import { isWithin } from '../lib/is-within.ts';

/**
 * Where a path that the user named leads, for a file or a folder that may not be there yet. SECURITY: whoever works in a stranger's repository may name `out` in it,
 * which the stranger made a link to `~/.ssh`. Below the current folder a link that leads out of it, or nowhere, is refused. A path elsewhere is the user's own affair.
 */
export function namedPlace(path: string, otherwise = 'Nothing was started'): string {
  const here = process.cwd();
  const place = resolve(path);
  if (!isWithin(place, here)) return place;
  let reached = realpathSync.native(here);
  const root = reached;
  for (const name of relative(here, place).split(sep).filter(Boolean)) {
    reached = resolve(reached, name);
    if (lstatSync(reached, { throwIfNoEntry: false })?.isSymbolicLink() !== true) continue;
    const led = leadsTo(reached);
    if (led === undefined || !isWithin(led, root)) {
      const link = relative(root, reached);
      throw new HotcellError(
        'invalid_argument',
        `${path}: ${link} is a link that leads out of this folder. ${otherwise}`,
        { remedy: 'Name another place, or the one that it leads to.' },
      );
    }
    reached = led;
  }
  return reached;
}

function leadsTo(link: string): string | undefined {
  try {
    return realpathSync.native(link); // The other one takes `d/..` as text.
  } catch {
    return undefined;
  }
}
