import Module from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { configFilePath, temporaryRunDir } from '../config/load.ts';
import { engineAddress } from '../drivers/docker/engine-address.ts';
import { runtimesInUse } from '../drivers/gvisor/runtimes-in-use.ts';
import { programsInUse } from '../drivers/process/programs-in-use.ts';
import { placesOfPrograms } from '../lib/find-program.ts';
import { packageRoot } from '../lib/package-root.ts';
import { followedPlaces, SYSTEM_FOLDERS } from './denied-places.ts';
import { secretsOfHomes } from './secret-homes.ts';
import { runFoldersInUse } from './server-lock.ts';

/**
 * The paths that a server needs on its host. This is the only list: a new path that a server executes, loads, writes or
 * keeps is added here.
 */
export interface ServerPlaces {
  readonly dataDir: string;
  /** The folder with the run folders of servers. */
  readonly runRoot: string;
  readonly logFile?: string | undefined;
}

/**
 * Paths that are never mounted, and never copied by `load_file`: secrets, system folders, Hotcell's data and its
 * sockets. SECURITY: a socket works through a read-only mount, too: the engine's would give control of the host, a
 * jail's control socket access to another owner's code.
 */
export function secretPlaces({ dataDir, runRoot }: ServerPlaces): string[] {
  const { socketPath } = engineAddress();
  const uid = process.getuid?.();
  const machinery = [
    ...SYSTEM_FOLDERS,
    ...[dataDir, ...runFoldersInUse({ dataDir, runRoot })],
    // SECURITY: denied even before it exists: code in a jail has this user's uid, and could create a folder that passes
    // for ours.
    ...(uid ? [temporaryRunDir(uid)] : []),
    ...(socketPath === undefined || process.platform === 'win32' ? [] : [socketPath]),
  ];
  return [...secretsOfHomes(), ...followedPlaces(machinery)];
}

/**
 * Paths that are never mounted writable: those that the server executes, loads or writes. SECURITY: it loads parts of
 * itself on first use, and starts programs at every opening. Code in a sandbox that could rewrite them would run as the
 * server, outside.
 */
export function reliedPlaces({ dataDir, logFile }: ServerPlaces): string[] {
  const program = process.argv[1];
  return [
    ...[packageRoot(), ...modulesAround(packageRoot()), ...GLOBAL_MODULES],
    ...(program === undefined ? [] : [resolve(program)]),
    ...nodePlaces(process.execPath),
    ...programsInUse(dataDir),
    ...runtimesInUse(),
    ...placesOfPrograms(HOST_PROGRAMS),
    configFilePath(dataDir),
    ...(logFile === undefined ? [] : [resolve(logFile)]),
  ];
}

/** Programs that set-up, `status` and `doctor` run. */
const HOST_PROGRAMS = [
  ...['docker', 'runsc', 'bwrap', 'uv', 'npm', 'pip3', 'pip', 'go', 'mmdebstrap', 'sudo', 'tar', 'chmod'],
  ...['systemctl', 'install', 'kill', 'apt-get', 'dnf', 'pacman', 'zypper', 'apk'],
  ...['python3', 'python', ...[9, 10, 11, 12, 13, 14].map((minor) => `python3.${minor}`)],
];

/**
 * Node's global module folders: ~/.node_modules, ~/.node_libraries, a folder beside Node, NODE_PATH. The type
 * definitions lack the list.
 */
const GLOBAL_MODULES = (Module as unknown as { readonly globalPaths?: readonly string[] }).globalPaths ?? [];

/** The folders in which Node looks for modules of a package, whether they exist or not. */
function modulesAround(folder: string): string[] {
  const parent = dirname(folder);
  const own = basename(folder) === 'node_modules' ? folder : join(folder, 'node_modules');
  return parent === folder ? [own] : [own, ...modulesAround(parent)];
}

function nodePlaces(node: string): string[] {
  const folder = dirname(node);
  return basename(folder) === 'bin' ? [node, join(dirname(folder), 'lib')] : [node];
}
