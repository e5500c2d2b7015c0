import { COMMON_ID, type UidBlock } from './session-uids.ts';

/**
 * The uid and gid that jails run as on the host. Root gives them one of Hotcell's own, used by nothing else (never `nobody`, whose files
 * and processes are shared with every daemon that fell back to it); any other user can only give its own.
 */
export interface JailIdentity {
  readonly uid: number;
  readonly gid: number;
}

/** With `uids`, the jail has one that no other jail has. */
export function jailIdentity(uids?: UidBlock): JailIdentity {
  const uid = process.getuid?.() ?? COMMON_ID;
  const gid = process.getgid?.() ?? COMMON_ID;
  return uid === 0 ? { uid: uids?.jail ?? COMMON_ID, gid: COMMON_ID } : { uid, gid };
}
