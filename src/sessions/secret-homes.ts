import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { placeOf, placeOfDenied } from '../lib/configured-paths.ts';
import { currentMounts } from '../lib/mount-table.ts';
import { accountHome, homeFolder } from '../lib/user-folders.ts';
import { followedPlaces } from './denied-places.ts';

const NAMES = ['.ssh', '.aws', '.gnupg', '.config/gcloud', '.azure', '.kube', '.docker', '.netrc'];

/**
 * Files and folders with keys of users: those of this user, with links followed, and for root, who can read them, those
 * of all users.
 */
export function secretsOfHomes(homes: readonly Home[] = otherHomes()): string[] {
  const own = followedPlaces(ownHomes().flatMap((home) => NAMES.map((name) => join(home, name))));
  const opaque = currentMounts().foreign;
  const isThere = (secret: string) => placeOf(secret, { opaque }).isOpaque || existsSync(secret);
  const others = homes.flatMap(({ path, isPerson }) =>
    NAMES.map((name) => join(path, name)).filter((secret) => isPerson || isThere(secret)),
  );
  return [...new Set([...own, ...others])];
}

/** The keys of all persons, for root, at this moment: for homes that are created after the server has started. */
export function keysInHomes(homes: readonly Home[] = otherHomes()): string[] {
  return keysIn(linkedHomes(homes));
}

/** The paths of keys in homes, as text: once the server has started, it does not look into homes of others. */
export function keysIn(homes: readonly Home[]): string[] {
  return homes.flatMap(({ path, isPerson }) => (isPerson ? NAMES.map((name) => `${path}/${name}`) : []));
}

/**
 * Adds the targets of homes that are reached through links: `/home/carol` may be a link, or `/home` itself. Each folder
 * that contains homes is listed once. SECURITY: a link that another user made counts only if its target is that user's
 * alone (`placeOfDenied`), and other users' file systems are not looked into.
 */
export function linkedHomes(homes: readonly Home[], foreign = currentMounts().foreign): Home[] {
  const folders = new Map<string, { readonly real: string; readonly links: ReadonlySet<string> }>();
  const folderAt = (path: string) => {
    const { real, isOpaque } = placeOfDenied(path, foreign);
    const links = isOpaque ? [] : linksIn(real).filter((name) => !foreign.has(join(real, name)));
    const found = { real, links: new Set(links) };
    folders.set(path, found);
    return found;
  };
  return homes.flatMap((home) => {
    const [folder, name] = [dirname(home.path), basename(home.path)];
    const { real, links } = folders.get(folder) ?? folderAt(folder);
    if (real === folder && !links.has(name)) return [home];
    const beside = join(real, name);
    const target = links.has(name) ? placeOfDenied(beside, foreign).real : beside;
    return [...new Set([home.path, beside, target])].map((path) => ({ ...home, path }));
  });
}

/**
 * The home that `HOME` names, and that of the account. SECURITY: keys are in the second, even if a service manager or a
 * user has set the first.
 */
export function ownHomes(home = homeFolder()): string[] {
  return [...new Set([home, accountHome() ?? home])];
}

export interface Home {
  readonly path: string;
  /**
   * Whether the account is a person's. A daemon's home may be `/usr/sbin` or `/var/www`, which must not be denied for
   * keys that do not exist.
   */
  readonly isPerson: boolean;
}

/** The homes of all users, for root. Accounts of a directory service are not in passwd, but in `/home`. */
export function otherHomes(isRoot = process.getuid?.() === 0, passwd = readPasswd()): Home[] {
  if (!isRoot) return [];
  const known = passwd.split('\n').flatMap((line) => {
    const [, , uid, , , path] = line.split(':');
    if (uid === undefined || !path?.startsWith('/')) return [];
    return [{ path, isPerson: Number(uid) >= FIRST_PERSON }];
  });
  const found = ['/home', '/Users'].flatMap((folder) => namesIn(folder).map((name) => join(folder, name)));
  return [...known, ...found.map((path) => ({ path, isPerson: true }))];
}

/** The first uid of persons, by convention. */
const FIRST_PERSON = 1000;

function readPasswd(): string {
  try {
    return readFileSync('/etc/passwd', 'utf8');
  } catch {
    return '';
  }
}

function linksIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name);
  } catch {
    return [];
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
