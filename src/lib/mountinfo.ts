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
  const point = line.split(' ', 5)[4];
  return point === undefined ? undefined : unescaped(point);
}

/** One line of mountinfo. */
export interface MountLine {
  readonly id: string;
  /** The id of the mount that this one is mounted on. */
  readonly parent: string;
  /** The number of the file system, as `major:minor`. */
  readonly device: string;
  /** The folder of the file system that is mounted: `/` for all of it, another one for a bind mount or a subvolume. */
  readonly root: string;
  readonly point: string;
}

/** Parses a line; undefined if it is not one. */
export function parseMountLine(line: string): MountLine | undefined {
  const [id, parent, device, root, point] = line.split(' ', 5);
  if (id === undefined || parent === undefined || device === undefined) return undefined;
  if (root === undefined || point === undefined) return undefined;
  return { id, parent, device, root: unescaped(root), point: unescaped(point) };
}

function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)));
}
