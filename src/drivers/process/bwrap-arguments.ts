import { dirname } from 'node:path';
import { LAYERS, NODE_MODULES } from '../../sandbox/layers.ts';
import type { Bind, Mount } from '../../sandbox/spec.ts';
import { MARKER } from './orphans.ts';

/** The layout of a jail, as data. `jail-process.ts` starts bubblewrap with it. */
export interface JailLayout {
  /** `<installation>-<server>`: identifies a jail as ours after its server has died. */
  readonly marker: string;
  /** Folders that hold the interpreter and its packages, outside /usr. */
  readonly pythonFolders: readonly string[];
  readonly python: string;
  readonly guestFolder: string;
  /** The Node program and its path inside, and the libraries that it needs from outside the system folders. */
  readonly node: readonly Bind[];
  /** Files of the synthetic /etc: name → path on the host. */
  readonly etcFiles: Readonly<Record<string, string>>;
  /** Paths in the host's /etc that are the same on every host and hold no secret; missing ones are skipped. */
  readonly hostEtc: readonly string[];
  /** Paths in /proc that are masked in a session. */
  readonly coveredProc: { readonly files: readonly string[]; readonly folders: readonly string[] };
  /** An empty file and an empty folder of the host, used as masks. */
  readonly covers: { readonly file: string; readonly folder: string };
  readonly mounts: readonly Mount[];
  /** The path of each session's workspace. */
  readonly workspace: string;
  /** Which of /bin, /lib, /lib64, /sbin are links into /usr on this host; the others are folders to bind. */
  readonly usrMerged: Readonly<Record<string, boolean>>;
}

const CONTROL_FOLDER = '/run/hotcell';
const MOUNTS_FOLDER = '/mnt/hotcell';
export const GUEST_FOLDER = '/opt/hotcell/guest';

export interface SharedJail {
  readonly controlFolder: string;
  /** The folder with the layers of all sessions, a folder for each. */
  readonly layersFolder: string;
  readonly switchesUids: boolean;
}

/**
 * The jail that many sessions of one owner share. Each session mounts its own workspace, /tmp and /proc inside (guest:
 * start/jail.py).
 */
export function sharedJailArguments(
  layout: JailLayout,
  { controlFolder, layersFolder, switchesUids }: SharedJail,
): string[] {
  return [
    ...common(layout),
    ...['--bind', controlFolder, CONTROL_FOLDER],
    ...['--dir', dirname(MOUNTS_FOLDER), '--dir', MOUNTS_FOLDER],
    ...layout.mounts.flatMap((mount, index) => bind(mount, `${MOUNTS_FOLDER}/${index}`)),
    // SECURITY: each session mounts its own folder at LAYERS, and covers this one with all others in it.
    ...['--ro-bind', layersFolder, `${MOUNTS_FOLDER}/layers`, '--dir', LAYERS],
    // Mount targets are created per session, in a root of its own (guest: start/mount_places.py).
    ...['--dir', layout.workspace, '--dir', '/var/tmp'],
    ...['--tmpfs', '/tmp'],
    ...closed(),
    // The zygote drops this capability once it has made its mounts private, which is its first step (guest:
    // start/zygote.py).
    ...['--cap-add', 'CAP_SYS_ADMIN'],
    // The zygote switches to the uid of a session while it clones it, so that the session's user namespace belongs to
    // that uid and not to the zygote.
    ...(switchesUids ? ['--cap-add', 'CAP_SETUID'] : []),
    ...entry(layout, ['zygote', '--channel', '3']),
  ];
}

/**
 * A jail for one session, on hosts that refuse nested namespaces: bubblewrap makes the mounts that a session would
 * make.
 */
export function singleJailArguments(
  layout: JailLayout,
  session: { diskBytes: number; tmpBytes: number; shmBytes: number; layersFolder: string },
): string[] {
  const workspaceMount = layout.mounts.find(({ target }) => target === layout.workspace);
  return [
    ...common(layout),
    ...coveredProc(layout),
    ...['--ro-bind', session.layersFolder, LAYERS],
    ...tmpfs('/tmp', session.tmpBytes),
    ...tmpfs('/var/tmp', session.tmpBytes),
    ...tmpfs('/dev/shm', session.shmBytes),
    ...(workspaceMount === undefined
      ? tmpfs(layout.workspace, session.diskBytes)
      : bind(workspaceMount, layout.workspace)),
    ...layout.mounts
      .filter((mount) => mount !== workspaceMount)
      .sort((a, b) => depthOf(a) - depthOf(b))
      .flatMap((mount) => bind(mount, mount.target)),
    ...closed(),
    ...['--cap-drop', 'ALL'],
    ...entry(layout, ['sandbox', '--channel', '3']),
  ];
}

function common(layout: JailLayout): string[] {
  return [
    ...['--unshare-all', '--die-with-parent', '--new-session', '--as-pid-1', '--clearenv'],
    // Set and unset again: the marker must appear in the arguments of bubblewrap, and must not be visible inside.
    ...['--setenv', MARKER, layout.marker, '--unsetenv', MARKER],
    ...['--uid', '1000', '--gid', '1000', '--hostname', 'sandbox'],
    ...['--ro-bind', '/usr', '/usr'],
    ...Object.entries(layout.usrMerged).flatMap(([name, merged]) =>
      merged ? ['--symlink', `usr/${name}`, `/${name}`] : ['--ro-bind-try', `/${name}`, `/${name}`],
    ),
    ...['--proc', '/proc', '--dev', '/dev', '--dir', '/run', '--dir', '/var'],
    ...foldersAbove([
      '/etc/any',
      GUEST_FOLDER,
      ...layout.hostEtc.map((name) => `/etc/${name}`),
      ...[...layout.pythonFolders, ...layout.node.map(({ target }) => target)],
    ]).flatMap((folder) => ['--dir', folder]),
    ...Object.entries(layout.etcFiles).flatMap(([name, path]) => ['--ro-bind', path, `/etc/${name}`]),
    ...layout.hostEtc.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...layout.pythonFolders.flatMap((folder) => ['--ro-bind', folder, folder]),
    ...['--ro-bind', layout.guestFolder, GUEST_FOLDER],
    ...layout.node.flatMap((mount) => bind(mount, mount.target)),
    // It leads nowhere until a layer has packages for Node.
    ...['--symlink', `${LAYERS}/node_modules`, NODE_MODULES],
  ];
}

/**
 * Masks parts of /proc, as sessions of a shared jail do for themselves (guest: proc_cover.py). The shared jail's own
 * /proc must be unmasked, otherwise Linux refuses to mount one for them.
 */
function coveredProc({ coveredProc: { files, folders }, covers }: JailLayout): string[] {
  return [
    ...files.flatMap((path) => ['--ro-bind', covers.file, path]),
    ...folders.flatMap((path) => ['--ro-bind', covers.folder, path]),
  ];
}

/**
 * All parent folders of the paths. Folders that bubblewrap creates by `--dir` are open to all uids; those that it
 * creates implicitly are not.
 */
function foldersAbove(paths: readonly string[]): string[] {
  const all = paths.flatMap((path) => {
    const names = path.split('/').slice(1, -1);
    return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
  });
  return [...new Set(all)].filter((folder) => folder !== '/usr' && !folder.startsWith('/usr/'));
}

/**
 * SECURITY: bubblewrap's root and /dev are writable tmpfs, through which sessions of one jail could exchange data. So
 * they are remounted read-only.
 */
function closed(): string[] {
  return ['--remount-ro', '/dev', '--remount-ro', '/'];
}

function entry(layout: JailLayout, guestArguments: string[]): string[] {
  const start = `import sys; sys.path.insert(0, '${GUEST_FOLDER}'); from hotcell_guest.__main__ import main; main(sys.argv[1:])`;
  return ['--chdir', '/', '--', layout.python, '-I', '-c', start, ...guestArguments, '--workspace', layout.workspace];
}

function bind(mount: Bind, target: string): string[] {
  return [mount.readOnly ? '--ro-bind' : '--bind', mount.source, target];
}

function depthOf({ target }: Mount): number {
  return target.split('/').length;
}

function tmpfs(target: string, sizeBytes: number): string[] {
  return ['--size', String(sizeBytes), '--tmpfs', target];
}
