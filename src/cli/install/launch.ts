import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { unlessMissing } from '../../lib/unless-missing.ts';

/** How a client starts this Hotcell, so that it still works when a cache is cleared. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** A line for the user, if the entry depends on a folder that users move or delete. */
  readonly warning?: string;
}

/** Where this Hotcell is. */
export interface Place {
  /** The program Node. */
  readonly node: string;
  /** The folder of the package. */
  readonly root: string;
  readonly version: string;
}

/**
 * Absolute paths of Node and of the built file: a client started from a desktop does not have the search path of a
 * shell.
 *
 * SECURITY: never npx. A client starts the server in the folder of a project, and npx runs `node_modules/hotcell` of
 * that folder and reads its `.npmrc`; even with `--prefix` it runs Hotcell by the `node` in its `node_modules/.bin`. So
 * from the cache of npx, which npm may clear at any time, there is no entry. Nor from a folder such as `/tmp`, which
 * bunx uses: after it was cleared, another user could create the path of the entry.
 */
export function launchOf({ node, root, version }: Place): Launch {
  if (isInNpxCache(root)) throw vanishing(root, version);
  for (const path of [node, root]) requireLasting(path, version);
  const launch = { command: node, args: [join(root, 'dist', 'cli.js')] };
  if (root.split(sep).includes('node_modules')) return launch;
  return {
    ...launch,
    warning: `The entry runs the clone in ${root}. If you move or delete the clone, run this command again.`,
  };
}

/** Whether Hotcell wrote this entry, by its form. Version 0.1.0 wrote entries for npx. */
export function isOwnEntry(entry: unknown): boolean {
  const { args } = (entry ?? {}) as { args?: unknown };
  if (!Array.isArray(args) || !args.includes('mcp')) return false;
  return args.some((arg) => typeof arg === 'string' && /([\\/]dist[\\/]cli\.js|^hotcell@[\w.+-]+)$/.test(arg));
}

/** Whether an entry starts Hotcell, whoever wrote it: a user may have pasted `hotcell mcp`. */
export function startsHotcell(entry: unknown): boolean {
  const { command } = (entry ?? {}) as { command?: unknown };
  return isOwnEntry(entry) || (typeof command === 'string' && /^(.*[\\/])?hotcell(\.cmd|\.ps1)?$/.test(command));
}

function isInNpxCache(root: string): boolean {
  return /[\\/]_npx[\\/]/.test(root);
}

function requireLasting(path: string, version: string): void {
  const shared = [path, unlessMissing(() => realpathSync(path)) ?? path].flatMap(foldersAround).find(othersMayCreateIn);
  if (shared === undefined) return;
  throw new HotcellError('invalid_argument', `${path} is below ${shared}, where other users can create files`, {
    remedy: `An entry is used for months, and they could replace what it runs. Install Hotcell and Node in a folder of yours (npm install -g hotcell@${version}), then run: hotcell install`,
  });
}

/** A path and the folders above it. */
function foldersAround(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [path, ...foldersAround(parent)];
}

/** The sticky bit keeps other users from renaming entries, not from creating those that were removed. */
function othersMayCreateIn(folder: string): boolean {
  if (process.platform === 'win32') return false;
  const found = unlessMissing(() => statSync(folder));
  return found?.isDirectory() === true && (found.mode & 0o002) !== 0;
}

/** Whether npx got the package from a registry, where npm will find it again: not from a tarball, a folder or a repository. */
function isFromRegistry(root: string): boolean {
  try {
    const { packages } = JSON.parse(readFileSync(join(dirname(root), '.package-lock.json'), 'utf8')) as {
      packages: Record<string, { resolved?: string }>;
    };
    const resolved = packages['node_modules/hotcell']?.resolved ?? '';
    return /^https?:\/\/.*\/hotcell\/-\/hotcell-[^/]*\.tgz$/.test(resolved);
  } catch {
    return false;
  }
}

function vanishing(root: string, version: string): HotcellError {
  const installed = isFromRegistry(root) ? `hotcell@${version}` : 'hotcell-<version>.tgz';
  return new HotcellError('invalid_argument', `this Hotcell is in the cache of npx (${root}), which npm may clear`, {
    remedy: `Install it where it stays (npm install -g ${installed}), then run: hotcell install`,
  });
}
