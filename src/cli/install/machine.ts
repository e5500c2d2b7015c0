import { homedir } from 'node:os';
import { posix, win32 } from 'node:path';

/** What decides where a client keeps its configuration. Tests give their own. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  /** The folder of the project, where a client has one. */
  readonly folder: string;
  /** Of the environment, the variables by which clients are told to look elsewhere, and our own `HOTCELL_HOME`. */
  readonly variables: Readonly<Record<string, string | undefined>>;
}

export function thisMachine(): Machine {
  return { platform: process.platform, home: homedir(), folder: process.cwd(), variables: process.env };
}

/** Joins a path as the machine's own system would. */
export function joinOn(machine: Machine, ...parts: string[]): string {
  return (machine.platform === 'win32' ? win32 : posix).join(...parts);
}

/** Where programs with windows keep their settings. */
export function settingsFolder(machine: Machine): string {
  const { platform, home, variables } = machine;
  if (platform === 'darwin') return joinOn(machine, home, 'Library', 'Application Support');
  if (platform === 'win32') return variables.APPDATA || joinOn(machine, home, 'AppData', 'Roaming');
  return variables.XDG_CONFIG_HOME || joinOn(machine, home, '.config');
}
