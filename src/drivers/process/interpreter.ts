import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { bootstrapProgram } from '../../guest/bootstrap-program.ts';
import {
  type Circumstances,
  circumstances,
  isTrustedProgram,
  programFolders,
  SYSTEM_FOLDERS,
  searchPath,
} from '../../lib/program-folders.ts';
import { runCommand } from '../../lib/run-command.ts';

/** A Python that can serve as the base of an environment. */
export interface Interpreter {
  /**
   * The path of the program with links resolved, so that an upgrade of `python3` to another version does not change it.
   */
  python: string;
  version: string;
  basePrefix: string;
  /** Whether `-m venv` can put pip into an environment (Debian ships that apart). */
  hasEnsurePip: boolean;
}

/** A lookup of one path in the file system; tests replace it. */
export type PathLookup = (
  path: string,
) => { kind: 'directory' | 'file' | 'link'; mode: number; target?: string } | undefined;

const oldestMinor = 9;

/**
 * The first Python of at least 3.9 that the user of sandboxes can read and execute, including every link on its path.
 */
export async function chooseInterpreter(signal?: AbortSignal): Promise<Interpreter | undefined> {
  // If Hotcell is root, sandboxes run under another uid; otherwise under our own, and can read what we can read.
  const isBarred = process.getuid?.() === 0 ? (path: string) => firstBarrier(path) !== undefined : () => false;
  for (const candidate of interpreterCandidates(searchPath())) {
    if (!lookUp(candidate) || isBarred(candidate)) continue;
    const found = await ask(candidate, signal);
    if (!found || !isSupported(found.version) || isBarred(found.standardLibrary)) continue;
    return found;
  }
  return undefined;
}

/**
 * The paths to try, in order: the distribution's own first, since every user of the machine can read it. SECURITY: they
 * are run, so none is in a project, nor a link into one, nor writable by other users.
 */
export function interpreterCandidates(path: string, here: Circumstances = circumstances()): string[] {
  const folders = ['/usr/bin', '/usr/local/bin', ...programFolders(path, here)];
  const versioned = [14, 13, 12, 11, 10, 9].map((minor) => `python3.${minor}`);
  const names = ['python3', ...versioned];
  const candidates = [...new Set(names.flatMap((name) => folders.map((folder) => join(folder, name))))];
  return candidates.filter((one) => SYSTEM_FOLDERS.includes(dirname(one)) || isTrustedProgram(one, here));
}

export function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major === 3 && minor >= oldestMinor;
}

/**
 * The first file or folder on `path`, with all links followed, that an unprivileged user may not enter.
 * `/usr/local/bin/python3 -> /root/.pyenv/…` is barred at `/root`.
 */
export function firstBarrier(path: string, look: PathLookup = lookUp): string | undefined {
  let remaining = path.split('/').filter(Boolean);
  let here = '/';
  for (let steps = 0; remaining.length > 0; steps++) {
    if (steps > 200) return path;
    const next = resolve(here, remaining[0]!);
    remaining = remaining.slice(1);
    const entry = look(next);
    if (!entry) return next;
    if (entry.kind === 'link') {
      const target = resolve(dirname(next), entry.target ?? '');
      remaining = [...target.split('/').filter(Boolean), ...remaining];
      here = '/';
      continue;
    }
    if (entry.kind === 'directory' && (entry.mode & 0o001) === 0) return next;
    if (entry.kind === 'file' && (entry.mode & 0o004) === 0) return next;
    here = next;
  }
  return undefined;
}

function lookUp(path: string): ReturnType<PathLookup> {
  try {
    const stat = lstatSync(path);
    if (stat.isSymbolicLink()) return { kind: 'link', mode: stat.mode, target: readlinkSync(path) };
    return { kind: stat.isDirectory() ? 'directory' : 'file', mode: stat.mode };
  } catch {
    return undefined;
  }
}

async function ask(
  python: string,
  signal?: AbortSignal,
): Promise<(Interpreter & { standardLibrary: string }) | undefined> {
  const { exitCode, stdout } = await runCommand(python, ['-I', '-c', bootstrapProgram('describe_interpreter')], {
    signal,
  });
  if (exitCode !== 0) return undefined;
  try {
    return JSON.parse(stdout);
  } catch {
    return undefined;
  }
}
