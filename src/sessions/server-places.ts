import Module from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { configFilePath, temporaryRunDir } from '../config/load.ts';
import { engineAddress } from '../drivers/docker/engine-address.ts';
import { runtimesInUse } from '../drivers/gvisor/runtimes-in-use.ts';
import { programsInUse } from '../drivers/process/programs-in-use.ts';
import { packageRoot } from '../lib/package-root.ts';
import { followedPlaces } from './denied-places.ts';
import { secretsOfHomes } from './secret-homes.ts';
import { runFoldersInUse } from './server-lock.ts';

/** What a server needs on its host. The one list of it: what a server comes to execute, load, write or keep is entered here. */
export interface ServerPlaces {
  readonly dataDir: string;
  /** The folder of running servers. */
  readonly runRoot: string;
  readonly logFile?: string | undefined;
}

/**
 * Never mounted, and never copied by `load_file`: secrets, the host's own machinery, what Hotcell keeps and where it listens. SECURITY: a socket answers through
 * a read-only mount, too: the engine's would give the host away, a jail's control socket another owner's code.
 */
export function secretPlaces({ dataDir, runRoot }: ServerPlaces): string[] {
  const { socketPath } = engineAddress();
  const uid = process.getuid?.();
  const machinery = [
    ...['/proc', '/sys', '/dev', '/run', '/var/run', '/boot', '/etc'],
    ...[dataDir, ...runFoldersInUse({ dataDir, runRoot })],
    // SECURITY: before it is there, too: code in a jail has this user's uid, and would make a folder that passes for one of ours.
    ...(uid ? [temporaryRunDir(uid)] : []),
    ...(socketPath === undefined || process.platform === 'win32' ? [] : [socketPath]),
  ];
  return [...secretsOfHomes(), ...followedPlaces(machinery)];
}

/**
 * Never mounted writable: what the server executes, loads or writes. SECURITY: it loads parts of itself when they are first needed, and starts programs at every
 * opening. Code in a sandbox that could rewrite them would run as the server, outside.
 */
export function reliedPlaces({ dataDir, logFile }: ServerPlaces): string[] {
  const program = process.argv[1];
  return [
    ...[packageRoot(), ...modulesAround(packageRoot()), ...GLOBAL_MODULES],
    ...(program === undefined ? [] : [resolve(program)]),
    ...nodePlaces(process.execPath),
    ...programsInUse(dataDir),
    ...runtimesInUse(),
    configFilePath(dataDir),
    ...(logFile === undefined ? [] : [resolve(logFile)]),
  ];
}

/** Where Node looks for modules of any program: ~/.node_modules, ~/.node_libraries, a folder beside Node, NODE_PATH. Its types leave the list out. */
const GLOBAL_MODULES = (Module as unknown as { readonly globalPaths?: readonly string[] }).globalPaths ?? [];

/** Where Node looks for the modules of a package, whether they are there or not. */
function modulesAround(folder: string): string[] {
  const parent = dirname(folder);
  const own = basename(folder) === 'node_modules' ? folder : join(folder, 'node_modules');
  return parent === folder ? [own] : [own, ...modulesAround(parent)];
}

function nodePlaces(node: string): string[] {
  const folder = dirname(node);
  return basename(folder) === 'bin' ? [node, join(dirname(folder), 'lib')] : [node];
}
