import { homedir, tmpdir, userInfo } from 'node:os';
import path from 'node:path';

/**
 * Folders and files that variables of the user name.
 *
 * SECURITY: a relative path, or an empty one, means the current folder, which may be a stranger's repository: it would
 * configure what the host uses. So only absolute paths are used, as the XDG specification demands of its variables.
 */
export type Variables = Readonly<Record<string, string | undefined>>;

/** The path, if it is absolute by the rules of the operating system. */
export function absolutePath(
  text: string | undefined,
  { isAbsolute }: Pick<typeof path, 'isAbsolute'> = path,
): string | undefined {
  return text !== undefined && isAbsolute(text) ? text : undefined;
}

/** The home folder: of `HOME`, else of the account, else the root of the file system, where only root can write. */
export function homeFolder(home = namedHome(), account = accountHome): string {
  return absolutePath(home) ?? account() ?? path.parse(process.execPath).root;
}

/** The home folder that the account has in passwd. Undefined if there is no such entry. */
export function accountHome(): string | undefined {
  try {
    return absolutePath(userInfo().homedir);
  } catch {
    return undefined;
  }
}

/** The folder of the user's configurations. */
export function configFolder({ XDG_CONFIG_HOME }: Variables, home = homeFolder()): string {
  return absolutePath(XDG_CONFIG_HOME) ?? path.join(home, '.config');
}

/** The folders of the system's configurations. */
export function systemConfigFolders({ XDG_CONFIG_DIRS = '' }: Variables): string[] {
  const named = XDG_CONFIG_DIRS.split(':').filter((folder) => absolutePath(folder) !== undefined);
  return named.length > 0 ? named : ['/etc/xdg'];
}

/** The folder of the user's data, if a variable names one. */
export function dataFolder({ XDG_DATA_HOME }: Variables): string | undefined {
  return absolutePath(XDG_DATA_HOME);
}

/** The folder of the user's sockets, if a variable names one. */
export function runtimeFolder({ XDG_RUNTIME_DIR }: Variables): string | undefined {
  return absolutePath(XDG_RUNTIME_DIR);
}

/** The folder for temporary files. */
export function temporaryFolder(named = tmpdir()): string {
  return absolutePath(named) ?? '/tmp';
}

/** `HOME`, or what the system says without it. */
function namedHome(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined; // no variable, and no passwd entry
  }
}
