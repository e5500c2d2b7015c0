import { HotcellError } from '../../errors/hotcell-error.ts';
import type { HostPlatform } from './platform.ts';

/** What a caller asked for, before anything was looked at. */
export interface Source {
  /** A file or a folder, absolute; of a glob the folder before its first pattern. */
  readonly path: string;
  /** Of what lies below it, with `/` between the names. */
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
  // A backslash of Windows stands between names; a pattern would take it for something else.
  const pattern = wanted.slice(path.length).replaceAll(paths.sep, '/').replace(/^\/+/, '');
  return { path, pattern };
}
