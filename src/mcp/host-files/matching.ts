import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { lookUp } from '../../lib/lookups.ts';
import { createPacer } from '../../lib/pacer.ts';
import { compileGlob, type Reached } from './glob.ts';

/** A file of the host that may be copied. */
export interface HostFile {
  /** Path with links resolved. */
  readonly path: string;
  /** Name of a file, or its path relative to the requested folder. */
  readonly name: string;
  readonly sizeBytes: number;
}

const DEEPEST = 32;
const MOST_ENTRIES = 100_000;

/**
 * Regular files below a folder whose relative path matches. Skipped are links, so that copying a folder does not copy
 * others; hidden files, unless the pattern names them; and files that may not be read.
 */
export async function filesMatching(
  folder: string,
  pattern: string,
  mayRead: (path: string) => boolean,
  { limit, owner, signal }: { limit: number; owner: string; signal?: AbortSignal | undefined },
): Promise<HostFile[]> {
  const glob = compileGlob(pattern);
  const wantsHidden = pattern.split('/').some((part) => part.startsWith('.'));
  const found: HostFile[] = [];
  // SECURITY: comparing the names of a large folder must not block the server.
  const pause = createPacer();
  let seen = 0;

  async function walk(place: string, below: string, depth: number, reached: Reached): Promise<void> {
    const entries = await lookUp(owner, () => readdir(place, { withFileTypes: true }).catch(() => []));
    for (const entry of entries) {
      seen += 1;
      if (seen > MOST_ENTRIES) throw tooMany(`more than ${MOST_ENTRIES} entries`);
      await pause();
      if (signal?.aborted === true) throw new HotcellError('cancelled', 'source: the search was cancelled');
      const name = below === '' ? entry.name : `${below}/${entry.name}`;
      const path = join(place, entry.name);
      if ((entry.name.startsWith('.') && !wantsHidden) || !mayRead(path)) continue;
      const further = entry.isDirectory() && depth < DEEPEST ? glob.enter(reached, entry.name) : undefined;
      if (further !== undefined) await walk(path, name, depth + 1, further);
      if (!entry.isFile() || !glob.matches(reached, entry.name)) continue;
      if (found.length >= limit) throw tooMany(`more than ${limit} files`);
      found.push({ path, name, sizeBytes: (await lookUp(owner, () => stat(path))).size });
    }
  }

  await walk(folder, '', 0, glob.start);
  return found.sort((one, other) => (one.name < other.name ? -1 : 1));
}

function tooMany(what: string): HotcellError {
  return new HotcellError('invalid_argument', `source: ${what}`, {
    remedy: 'Name a smaller folder or a narrower pattern, or pack it into an archive first.',
  });
}
