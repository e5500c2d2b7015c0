import { mountPointIn, readMountinfo } from './mountinfo.ts';

/**
 * The user who mounted a FUSE file system at a path; undefined if there is none. SECURITY: any user can mount one on a
 * folder of theirs, for example in `/tmp`, and it can show any owners and modes.
 */
export function mounterOf(path: string, mounts: string = readMounts()): number | undefined {
  // Of several mounts at one path, the last is on top.
  const top = mounts.split('\n').findLast((line) => mountPointIn(line) === path);
  return top === undefined ? undefined : mounterIn(top);
}

/**
 * The mount points of FUSE file systems of users other than root and this one. SECURITY: any access there waits for a
 * program of that user, which may never answer.
 */
export function foreignMounts(mounts: string = readMounts()): ReadonlySet<string> {
  const foreign = mounts.split('\n').filter((line) => !isTrusted(mounterIn(line)));
  return new Set(foreign.flatMap((line) => mountPointIn(line) ?? []));
}

/**
 * Whether an open file lies in a FUSE file system of another user, or in one that has been unmounted since. `fdinfo` is
 * the kernel's description of the descriptor (proc_pid_fdinfo(5)), which names the mount: no path is looked up again.
 */
export function isForeignFile(fdinfo: string, mounts: string = readMounts()): boolean {
  const id = /^mnt_id:\s*(\d+)$/m.exec(fdinfo)?.[1];
  const line = mounts.split('\n').find((one) => one.startsWith(`${id} `));
  return line === undefined || !isTrusted(mounterIn(line));
}

function isTrusted(mounter: number | undefined): boolean {
  return mounter === undefined || mounter === 0 || mounter === process.getuid?.();
}

function mounterIn(line: string): number | undefined {
  const [type, , options] = line.split(' - ').at(-1)?.split(' ') ?? [];
  if (type === undefined || !/^fuse(blk)?(\.|$)/.test(type)) return undefined;
  const user = options?.split(',').find((option) => option.startsWith('user_id='));
  return user === undefined ? undefined : Number(user.slice('user_id='.length));
}

function readMounts(): string {
  return readMountinfo() ?? '';
}
