import { COMMON_ID, type UidBlock } from './session-uids.ts';

/**
 * The uid and gid of jails on the host. If Hotcell is root, they are reserved for Hotcell (never `nobody`, whose files
 * and processes are shared with every daemon that fell back to it); otherwise they are those of the current user.
 */
export interface JailIdentity {
  readonly uid: number;
  readonly gid: number;
}

/** With `uids`, the jail has a uid that no other jail has. */
export function jailIdentity(uids?: UidBlock): JailIdentity {
  const uid = process.getuid?.() ?? COMMON_ID;
  const gid = process.getgid?.() ?? COMMON_ID;
  return uid === 0 ? { uid: uids?.jail ?? COMMON_ID, gid: COMMON_ID } : { uid, gid };
}
