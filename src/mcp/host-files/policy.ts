import { realpath } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { isWithin } from '../../sessions/mounts.ts';

/** Which files of the host may be copied into a sandbox. Links resolved in all of them. */
export interface HostPolicy {
  readonly roots: readonly string[];
  readonly denied: readonly string[];
  readonly home: string;
}

/** Resolves the links in what was configured. What is not there stays as it is written. */
export async function hostPolicy(given: HostPolicy): Promise<HostPolicy> {
  const real = (path: string) => realpath(path).catch(() => resolve(path));
  return {
    roots: await Promise.all(given.roots.map(real)),
    denied: await Promise.all(given.denied.map(real)),
    home: await real(given.home),
  };
}

export const OUTSIDE = 'it is not below an allowed folder';

/** Why a file, its links resolved, may not be copied; undefined where it may. */
export function refusalOf(path: string, { roots, denied, home }: HostPolicy): string | undefined {
  if (denied.some((secret) => isWithin(path, secret))) return 'it may hold secrets';
  const allowed = roots.filter((root) => isWithin(path, root));
  if (allowed.length === 0) return OUTSIDE;
  // SECURITY: keys, tokens and histories of nearly every program lie in hidden files of the home folder, more of them than a list could name.
  if (isHiddenInHome(path, home) && !allowed.some((root) => isHiddenInHome(root, home)))
    return 'hidden files of the home folder may hold secrets';
  return undefined;
}

export function denial(shown: string, reason: string): HotcellError {
  return new HotcellError('host_path_denied', `${shown}: ${reason}`, {
    remedy: 'Ask the user to copy it elsewhere, or to allow its folder (HOTCELL_LOAD_ROOTS).',
  });
}

function isHiddenInHome(path: string, home: string): boolean {
  return path !== home && isWithin(path, home) && relative(home, path).split(sep)[0]!.startsWith('.');
}
