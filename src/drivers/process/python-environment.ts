import { accessSync, constants, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bootstrapProgram } from '../../guest/bootstrap-program.ts';
import { requireTrusted } from '../../lib/own-folder.ts';
import { runCommand } from '../../lib/run-command.ts';
import { StepError } from '../../lib/steps.ts';
import { missingPackages, requirementsHash } from '../python-packages.ts';
import { chooseInterpreter } from './interpreter.ts';

export interface PythonEnvironment {
  /** `own`: created by `ensurePythonEnvironment`. `system`: the machine's Python with the packages that it has. */
  kind: 'own' | 'system';
  python: string;
  prefix: string;
  /** The prefix of the base installation; a jail must show both. */
  basePrefix: string;
  version: string;
  packages: Record<string, string>;
  /** Standard packages that are not installed. */
  missing: string[];
}

/** Written last: an environment without this file is incomplete. */
export const readyFile = '.ready';

export interface ReadyRecord extends PythonEnvironment {
  requirements: string;
  madeAt: string;
}

/**
 * Finds the environment that sandboxes run in, our own before the system's. Every cold start calls it: with our own
 * environment it reads two files and starts no program.
 */
export async function findPythonEnvironment(options: {
  dataDir: string;
  signal?: AbortSignal;
}): Promise<PythonEnvironment | undefined> {
  return findOwn(options.dataDir) ?? (await describeSystemPython(options.signal));
}

/** The best environment of our own, if there is one. Throws if another user could have put it there. */
export function findOwn(dataDir: string): ReadyRecord | undefined {
  const records = ownEnvironments(dataDir);
  if (records.length <= 1) return records[0];
  const current = requirementsHash();
  const newestFirst = records.sort((a, b) => b.madeAt.localeCompare(a.madeAt));
  return newestFirst.find((record) => record.requirements === current) ?? newestFirst[0];
}

/** All environments of ours: an upgrade of Hotcell, or of the machine's Python, makes another one. */
export function ownEnvironments(dataDir: string): ReadyRecord[] {
  const root = join(dataDir, 'python');
  requireTrusted(root);
  let names: string[];
  try {
    names = readdirSync(root);
  } catch {
    return [];
  }
  return names
    .filter((name) => /^[0-9a-f]{12}$/.test(name))
    .map((name) => readTrusted(join(root, name)))
    .filter((record) => record !== undefined);
}

function readTrusted(prefix: string): ReadyRecord | undefined {
  for (const path of [prefix, join(prefix, readyFile)]) requireTrusted(path);
  return readRecord(prefix);
}

export function readRecord(prefix: string): ReadyRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(join(prefix, readyFile), 'utf8')) as ReadyRecord;
    // SECURITY: a forged record must not name a program outside its environment.
    if (realpathSync(dirname(record.python)) !== realpathSync(join(prefix, 'bin'))) return undefined;
    // An upgrade of the distribution may have removed the base interpreter; the environment's link is then broken.
    accessSync(record.python, constants.X_OK);
    return record;
  } catch {
    return undefined;
  }
}

export async function describeSystemPython(signal?: AbortSignal): Promise<PythonEnvironment | undefined> {
  const base = await chooseInterpreter(signal);
  if (!base) return undefined;
  const described = await describePackages(base.python, signal);
  return { kind: 'system', python: base.python, prefix: base.basePrefix, basePrefix: base.basePrefix, ...described };
}

export async function describePackages(
  python: string,
  signal?: AbortSignal,
): Promise<Pick<PythonEnvironment, 'version' | 'packages' | 'missing'>> {
  const { exitCode, stdout, tail } = await runCommand(python, ['-I', '-c', bootstrapProgram('list_packages')], {
    signal,
  });
  if (exitCode !== 0) throw new StepError(`${python} does not run: ${tail}`);
  const { version, packages } = JSON.parse(stdout) as { version: string; packages: Record<string, string> };
  return { version, packages, missing: missingPackages(packages) };
}
