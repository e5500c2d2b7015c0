import { HotcellError } from '../../errors/hotcell-error.ts';
import type { HostPlatform } from './platform.ts';

/** The source argument, parsed without looking at the disk. */
export interface Source {
  /** Absolute path of a file or folder; for a glob, the folder before its first wildcard. */
  readonly path: string;
  /** Pattern of the paths below it, with `/` between names. */
  readonly pattern?: string;
}

const PATTERN = /[*?[{]/;

export function parseSource(
  source: string,
  { home, base, platform }: { home: string; base: string; platform: HostPlatform },
): Source {
  const { paths } = platform;
  if (source.includes('\0')) throw new HotcellError('invalid_argument', 'source: a path has no NUL');
  const isHome = source === '~' || source.startsWith('~/') || source.startsWith(`~${paths.sep}`);
  const wanted = isHome ? paths.join(home, source.slice(1)) : paths.resolve(base, source);
  const at = wanted.search(PATTERN);
  if (at === -1) return { path: wanted };
  const path = paths.dirname(wanted.slice(0, at + 1));
  // A Windows separator would be an escape in the pattern.
  const pattern = wanted.slice(path.length).replaceAll(paths.sep, '/').replace(/^\/+/, '');
  return { path, pattern };
}
