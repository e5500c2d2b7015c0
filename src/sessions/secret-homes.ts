import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import { placeOf } from '../lib/configured-paths.ts';
import { foreignMounts } from '../lib/mounter.ts';
import { followedPlaces } from './denied-places.ts';

const NAMES = ['.ssh', '.aws', '.gnupg', '.config/gcloud', '.azure', '.kube', '.docker', '.netrc'];

/** Files and folders in which the people of this host keep keys: this user's, wherever their links lead, and for root, who can read them, everybody's. */
export function secretsOfHomes(homes: readonly Home[] = otherHomes()): string[] {
  const own = followedPlaces(ownHomes().flatMap((home) => NAMES.map((name) => join(home, name))));
  const opaque = foreignMounts();
  const isThere = (secret: string) => placeOf(secret, { opaque }).isOpaque || existsSync(secret);
  const others = homes.flatMap(({ path, isPerson }) =>
    NAMES.map((name) => join(path, name)).filter((secret) => isPerson || isThere(secret)),
  );
  return [...new Set([...own, ...others])];
}

/** The home that `HOME` names, and the one of the account. SECURITY: keys lie in the second also where a service manager or a user has set the first. */
export function ownHomes(home = homedir()): string[] {
  try {
    return [...new Set([home, userInfo().homedir])];
  } catch {
    return [home]; // an account that is in no passwd
  }
}

export interface Home {
  readonly path: string;
  /** A daemon has no keys unless they are there, and its home may be `/usr/sbin` or `/var/www`, which nobody may be kept from for keys that there are not. */
  readonly isPerson: boolean;
}

/** The homes of all users, for root. A directory service's are not in passwd, but in `/home`. */
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

/** Of a person's account, by convention. */
const FIRST_PERSON = 1000;

function readPasswd(): string {
  try {
    return readFileSync('/etc/passwd', 'utf8');
  } catch {
    return '';
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
