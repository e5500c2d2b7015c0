import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, isAbsolute, join, parse, resolve, sep } from 'node:path';
import type { Config } from '../../config/schema.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { quotedName } from '../../lib/said-inside.ts';
import { unlessMissing } from '../../lib/unless-missing.ts';

/**
 * Throws if the current folder decides which data folder or configuration file a server uses. SECURITY: a client starts
 * the server in the folder of a project, which could then configure its own sandbox.
 */
export function requireAbsolute(named: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(named)) {
    if (typeof value !== 'string' || value === '' || isAbsolute(value)) continue;
    throw new HotcellError('invalid_argument', `${name}: ${quotedName(value)} is relative to the current folder`, {
      remedy: `A client starts hotcell mcp in any folder, so write an absolute path, such as ${resolve(value)}`,
    });
  }
}

/** The roots whose files sandboxes get, and the file that the server writes. */
export type FixedPaths = Partial<Pick<Config, 'loadRoots' | 'mountRoots' | 'logFile'>>;

/**
 * Throws if a root or the log is reached through a link. SECURITY: `hotcell install` writes the path of a folder without links,
 * and the entry is used for months. A project in which that folder becomes a link to the user's keys must not have them
 * copied into sandboxes, nor have the server append lines with a client's words to `~/.bashrc`. A link of the system, such
 * as `/home` or `/tmp`, stays what it is.
 */
export function requireNoLinks({ loadRoots = [], mountRoots = [], logFile }: FixedPaths): void {
  const logs = logFile === undefined || OF_KERNEL.test(logFile) ? [] : [logFile];
  for (const root of [...loadRoots, ...mountRoots, ...logs]) {
    const link = linkOn(resolve(root));
    if (link === undefined) continue;
    const [name, target] = [quotedName(link), quotedName(readlinkSync(link))];
    const message = `${quotedName(root)}: ${name} is a symbolic link, which is not followed here. Nothing was started`;
    throw new HotcellError('invalid_argument', message, {
      remedy: `It leads to ${target}. If you made it, name the path without links, or run hotcell install again; otherwise remove the link.`,
    });
  }
}

/** Links of the kernel to open files. */
const OF_KERNEL = /^\/dev\/(stdout|stderr|fd\/\d+)$/;

/** The first link on an absolute path that this user, or a program of this user, could have made. */
function linkOn(path: string): string | undefined {
  let { root: reached } = parse(path);
  for (const name of path.slice(reached.length).split(sep)) {
    const next = join(reached, name);
    const found = unlessMissing(() => lstatSync(next));
    if (found === undefined) return undefined;
    if (found.isSymbolicLink() && !isOfTheSystem(next)) return next;
    reached = next;
  }
  return undefined;
}

function isOfTheSystem(link: string): boolean {
  const folder = dirname(link);
  if (folder === parse(link).root) return true;
  const { uid, mode } = lstatSync(folder);
  return process.getuid?.() !== 0 && uid === 0 && (mode & 0o022) === 0;
}
