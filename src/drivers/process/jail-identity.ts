import type { UidBlock } from './session-uids.ts';

/**
 * The uid and gid that jails run as on the host. Root gives them one of Hotcell's own, used by nothing else (never `nobody`, whose files
 * and processes are shared with every daemon that fell back to it); any other user can only give its own.
 */
export interface JailIdentity {
  readonly uid: number;
  readonly gid: number;
}

const HOTCELL_ID = 618_407;

/** With `uids`, the jail has one that no other jail has. */
export function jailIdentity(uids?: UidBlock): JailIdentity {
  const uid = process.getuid?.() ?? HOTCELL_ID;
  const gid = process.getgid?.() ?? HOTCELL_ID;
  return uid === 0 ? { uid: uids?.jail ?? HOTCELL_ID, gid: HOTCELL_ID } : { uid, gid };
}
