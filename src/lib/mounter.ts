import { readFileSync } from 'node:fs';

/**
 * The user who mounted a FUSE file system at a path; nothing where there is none. SECURITY: any user can mount one on a folder of theirs, in `/tmp` say, and
 * it shows whatever owners and modes they like.
 */
export function mounterOf(path: string, mounts: string = readMounts()): number | undefined {
  // The last of several at one place is the one on top.
  const top = mounts.split('\n').findLast((line) => placeOf(line) === path);
  const [type, , options] = top?.split(' - ').at(-1)?.split(' ') ?? [];
  if (type === undefined || !/^fuse(blk)?(\.|$)/.test(type)) return undefined;
  const user = options?.split(',').find((option) => option.startsWith('user_id='));
  return user === undefined ? undefined : Number(user.slice('user_id='.length));
}

function placeOf(line: string): string | undefined {
  return line
    .split(' ')[4]
    ?.replaceAll(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)));
}

function readMounts(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return ''; // not Linux
  }
}
