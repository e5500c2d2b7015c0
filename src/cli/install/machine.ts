import { posix, win32 } from 'node:path';
import { absolutePath, configFolder, homeFolder } from '../../lib/user-folders.ts';

/** The properties of the machine that decide where a client keeps its configuration. Tests pass their own. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  /** Folder of the project, for clients with a configuration per project. */
  readonly folder: string;
  /** Environment variables that move the configuration of clients, and `HOTCELL_HOME`. */
  readonly variables: Readonly<Record<string, string | undefined>>;
}

export function thisMachine(): Machine {
  return { platform: process.platform, home: homeFolder(), folder: process.cwd(), variables: process.env };
}

/** Joins a path by the rules of the machine's operating system. */
export function joinOn(machine: Machine, ...parts: string[]): string {
  return pathsOn(machine).join(...parts);
}

/** The absolute path that a user in the folder of the project means, by the rules of the machine's operating system. */
export function resolveOn(machine: Machine, path: string): string {
  return pathsOn(machine).resolve(machine.folder, path);
}

/** The folder that a variable names; undefined if the path is not absolute (`user-folders.ts`). */
export function namedFolder(machine: Machine, variable: string): string | undefined {
  return absolutePath(machine.variables[variable], pathsOn(machine));
}

/** Folder of the settings of desktop programs. */
export function settingsFolder(machine: Machine): string {
  const { platform, home, variables } = machine;
  if (platform === 'darwin') return joinOn(machine, home, 'Library', 'Application Support');
  if (platform === 'win32') return namedFolder(machine, 'APPDATA') ?? joinOn(machine, home, 'AppData', 'Roaming');
  return configFolder(variables, home);
}

function pathsOn({ platform }: Machine) {
  return platform === 'win32' ? win32 : posix;
}
