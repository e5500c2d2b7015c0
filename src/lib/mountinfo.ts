import { readFileSync } from 'node:fs';

/** The mounts that this process sees, one per line (proc_pid_mountinfo(5)); undefined if this is not Linux. */
export function readMountinfo(): string | undefined {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return undefined;
  }
}

/** The mount point in a line of mountinfo. */
export function mountPointIn(line: string): string | undefined {
  return line
    .split(' ')[4]
    ?.replaceAll(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)));
}
