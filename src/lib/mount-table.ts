import { foreignMounts } from './mounter.ts';
import { type MountLine, parseMountLine, readMountinfo } from './mountinfo.ts';

/**
 * The mounts of this host, prepared for comparing paths.
 *
 * SECURITY: a host can show one folder at several paths: a bind mount, a device that is mounted twice, a subvolume. Two
 * paths are therefore compared by their locations: the number of the file system and the path within it, such as
 * `@8:1/data/home`. One location lies in another exactly if the text does (`path-index.ts`).
 */
export interface MountTable {
  /** The location of a path without links, which may be missing. Where the system tells no mounts, the path itself. */
  locate(path: string): string;
  /**
   * The locations of a path on all mounts on its way, covered ones included. SECURITY: for places that are denied. Where
   * a mount covers one (systemd's `ProtectHome=tmpfs`), what it covers may still have a second path.
   */
  locations(path: string): readonly string[];
  /** Locations of the roots of all file systems that are mounted below a folder, covered ones included. */
  below(folder: string): readonly string[];
  /** The same, with the mount points. */
  mountedBelow(folder: string): readonly Mounted[];
  /** Mount points of FUSE file systems of other users (`foreignMounts`). */
  readonly foreign: ReadonlySet<string>;
}

export interface Mounted {
  readonly point: string;
  readonly location: string;
}

/** Prepares a mountinfo: its cost grows with the number of mounts, that of a lookup only with the depth of a path. */
export function mountTable(mountinfo: string | undefined): MountTable {
  if (mountinfo === undefined) return process.platform === 'darwin' ? tableOf(FIRMLINKS, '') : NO_MOUNTS;
  return tableOf(
    mountinfo.split('\n').flatMap((line) => parseMountLine(line) ?? []),
    mountinfo,
  );
}

/** The table of this moment. It is prepared again when the mounts have changed. */
export function currentMounts(): MountTable {
  const text = readMountinfo();
  if (latest === undefined || latest.text !== text) latest = { text, table: mountTable(text) };
  return latest.table;
}

let latest: { readonly text: string | undefined; readonly table: MountTable } | undefined;

const NO_MOUNTS: MountTable = {
  locate: (path) => path,
  locations: (path) => [path],
  below: () => [],
  mountedBelow: () => [],
  foreign: new Set(),
};
/** macOS shows the folders of its data volume at `/`, too (firmlinks). */
const FIRMLINKS: readonly MountLine[] = [
  { id: '1', parent: '0', device: 'data', root: '/', point: '/' },
  { id: '2', parent: '1', device: 'data', root: '/', point: '/System/Volumes/Data' },
];

function tableOf(lines: readonly MountLine[], mountinfo: string): MountTable {
  const ids = new Set(lines.map(({ id }) => id));
  /** The mounts by the mount and the path that they are mounted on. */
  const mounted = new Map<string, MountLine>();
  const below = new Map<string, Mounted[]>();
  const atPoint = new Map<string, MountLine[]>();
  for (const line of lines) {
    mounted.set(`${ids.has(line.parent) ? line.parent : OUTSIDE} ${line.point}`, line);
    append(atPoint, line.point, line);
    const one = { point: line.point, location: joined(line, '') };
    for (const folder of foldersAbove(line.point)) append(below, folder, one);
  }

  /** The mount that a path shows: the one on top, if several are mounted on one another there. */
  function top(on: MountLine | undefined, path: string): MountLine | undefined {
    let found = on;
    for (let depth = 0; depth <= lines.length; depth += 1) {
      const next = mounted.get(`${found?.id ?? OUTSIDE} ${path}`);
      if (next === undefined || next === found) return found;
      found = next;
    }
    return found;
  }

  const on = (mount: MountLine, path: string) =>
    joined(mount, path.slice(mount.point === '/' ? 0 : mount.point.length));

  /** The location of a path. `passed` gets the mounts on its way, covered ones included. */
  function locate(path: string, passed?: MountLine[]): string {
    let mount = top(undefined, '/');
    passed?.push(...(atPoint.get('/') ?? []));
    for (let end = path.indexOf('/', 1); path !== '/'; end = path.indexOf('/', end + 1)) {
      const folder = end === -1 ? path : path.slice(0, end);
      const here = atPoint.get(folder);
      if (here !== undefined) {
        mount = top(mount, folder);
        passed?.push(...here);
      }
      if (end === -1) break;
    }
    return mount === undefined ? path : on(mount, path);
  }

  const mountedBelow = (folder: string) => below.get(folder) ?? [];

  return {
    locate: (path) => locate(path),
    locations: (path) => {
      const passed: MountLine[] = [];
      const shown = locate(path, passed);
      return passed.length < 2 ? [shown] : [...new Set([shown, ...passed.map((mount) => on(mount, path))])];
    },
    below: (folder) => below.get(folder)?.map(({ location }) => location) ?? [],
    mountedBelow,
    foreign: foreignMounts(mountinfo),
  };
}

/** Stands for the mount that the root of this process is mounted on, which is not in its table. */
const OUTSIDE = '';

function joined({ device, root }: MountLine, rest: string): string {
  return `@${device}${root === '/' ? '' : root}${rest === '/' ? '' : rest}`;
}

function append<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/** The folders strictly above a mount point, with `/`. */
function foldersAbove(point: string): string[] {
  if (point === '/') return [];
  const found = ['/'];
  for (let end = point.indexOf('/', 1); end !== -1; end = point.indexOf('/', end + 1)) found.push(point.slice(0, end));
  return found;
}
