import { dirname } from 'node:path';
import type { Bind, Mount } from '../../sandbox/spec.ts';
import { MARKER } from './orphans.ts';

/** What bubblewrap is to build. Pure data: `jail-process.ts` starts it. */
export interface JailLayout {
  /** `<installation>-<server>`: by it a jail is known as ours after its server died. */
  readonly marker: string;
  /** Folders that hold the interpreter and its packages, outside /usr. */
  readonly pythonFolders: readonly string[];
  readonly python: string;
  readonly guestFolder: string;
  /** The program of Node at its place inside, and what it needs beside the system's folders. */
  readonly node: readonly Bind[];
  /** Files of the synthetic /etc: name → path on the host. */
  readonly etcFiles: Readonly<Record<string, string>>;
  /** Parts of the host's /etc that are the same everywhere and hold no secret, if they exist. */
  readonly hostEtc: readonly string[];
  /** Paths in /proc that a session's own is without. */
  readonly coveredProc: { readonly files: readonly string[]; readonly folders: readonly string[] };
  /** An empty file and an empty folder of the host, to cover them with. */
  readonly covers: { readonly file: string; readonly folder: string };
  readonly mounts: readonly Mount[];
  /** Where each session's workspace is. */
  readonly workspace: string;
  /** Which of /bin, /lib, /lib64, /sbin are links into /usr here; the others are folders to show. */
  readonly usrMerged: Readonly<Record<string, boolean>>;
}

const CONTROL_FOLDER = '/run/hotcell';
const MOUNTS_FOLDER = '/mnt/hotcell';
export const GUEST_FOLDER = '/opt/hotcell/guest';

/** The jail that many sessions of one owner share. Each makes its own workspace, /tmp, /proc inside (guest: start/jail.py). */
export function sharedJailArguments(
  layout: JailLayout,
  { controlFolder, switchesUids }: { controlFolder: string; switchesUids: boolean },
): string[] {
  return [
    ...common(layout),
    ...['--bind', controlFolder, CONTROL_FOLDER],
    ...['--dir', dirname(MOUNTS_FOLDER), '--dir', MOUNTS_FOLDER],
    ...layout.mounts.flatMap((mount, index) => bind(mount, `${MOUNTS_FOLDER}/${index}`)),
    // Targets are a session's own affair: it makes their places in a root of its own (guest: start/mount_places.py).
    ...['--dir', layout.workspace, '--dir', '/var/tmp'],
    ...['--tmpfs', '/tmp'],
    ...closed(),
    // Until it has made its mounts its own, which is before anything else (guest: start/zygote.py).
    ...['--cap-add', 'CAP_SYS_ADMIN'],
    // The zygote takes the uid of a session for as long as it clones it, so that the session's user namespace belongs to that uid and not to the zygote.
    ...(switchesUids ? ['--cap-add', 'CAP_SETUID'] : []),
    ...entry(layout, ['zygote', '--channel', '3']),
  ];
}

/** A jail for one session, where nested namespaces are refused: bubblewrap itself makes what a session would. */
export function singleJailArguments(
  layout: JailLayout,
  sizes: { diskBytes: number; tmpBytes: number; shmBytes: number },
): string[] {
  const workspaceMount = layout.mounts.find(({ target }) => target === layout.workspace);
  return [
    ...common(layout),
    ...coveredProc(layout),
    ...tmpfs('/tmp', sizes.tmpBytes),
    ...tmpfs('/var/tmp', sizes.tmpBytes),
    ...tmpfs('/dev/shm', sizes.shmBytes),
    ...(workspaceMount === undefined
      ? tmpfs(layout.workspace, sizes.diskBytes)
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
    // Set and unset again: it is for the arguments of bubblewrap itself, and names this server to nobody inside.
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
  ];
}

/** As sessions of a shared jail do for themselves (guest: proc_cover.py): the jail's /proc must be whole for them, or Linux gives them none. */
function coveredProc({ coveredProc: { files, folders }, covers }: JailLayout): string[] {
  return [
    ...files.flatMap((path) => ['--ro-bind', covers.file, path]),
    ...folders.flatMap((path) => ['--ro-bind', covers.folder, path]),
  ];
}

/** Every folder on the way to a path. Made by name, bubblewrap opens them to all uids; those that it makes by itself are the jail's alone. */
function foldersAbove(paths: readonly string[]): string[] {
  const all = paths.flatMap((path) => {
    const names = path.split('/').slice(1, -1);
    return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
  });
  return [...new Set(all)].filter((folder) => folder !== '/usr' && !folder.startsWith('/usr/'));
}

/** SECURITY: bubblewrap's root and /dev are writable tmpfs. All sessions of a jail would share them. */
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
