import { readFileSync } from 'node:fs';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { COMMON_ID, coversUids, type UidBlock } from './session-uids.ts';

/**
 * The uid and gid of jails on the host. If Hotcell is root, they are reserved for Hotcell (never `nobody`, whose files
 * and processes are shared with every daemon that fell back to it); otherwise they are those of the current user.
 */
export interface JailIdentity {
  readonly uid: number;
  readonly gid: number;
}

/** With `uids`, the jail has a uid that no other jail has. Throws if root has no uid to give here. */
export function jailIdentity(uids?: UidBlock): JailIdentity {
  const uid = process.getuid?.() ?? COMMON_ID;
  const gid = process.getgid?.() ?? COMMON_ID;
  if (uid !== 0) return { uid, gid };
  if (uids === undefined) requireCommonId(readFileSync('/proc/self/uid_map', 'utf8'));
  return { uid: uids?.jail ?? COMMON_ID, gid: COMMON_ID };
}

/** The root of a user namespace may lack the uid: in a rootless container, or under `unshare --map-root-user`. */
export function requireCommonId(ownMap: string): void {
  if (coversUids(ownMap, COMMON_ID, 1)) return;
  throw new HotcellError(
    'driver_unavailable',
    `process: this is the root of a user namespace without the uid ${COMMON_ID}, which jails of root have`,
    { remedy: 'Run Hotcell as an ordinary user there, which needs no root, or outside that namespace.' },
  );
}
