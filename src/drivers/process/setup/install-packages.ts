import { rm } from 'node:fs/promises';
import { findProgram } from '../../../lib/find-program.ts';
import { type CommandResult, runCommand } from '../../../lib/run-command.ts';
import { type Progress, type Report, StepError, type Work } from '../../../lib/steps.ts';
import { installerVariables } from '../../../registries/installer-variables.ts';
import { pipSettings, shownIndex } from '../../../registries/pip-settings.ts';
import { lockedCount, pinnedMinors, requirementsFile, standardPackages, standardSizes } from '../../python-packages.ts';
import type { Interpreter } from '../interpreter.ts';
import { provideUv, type Uv } from './uv.ts';

/** Installed files are readable for all users, whatever the umask of the person who installs. */
const umask = '022';

/** Creates an empty virtual environment: by uv if installed, else by Python itself, which brings pip along. */
export async function makeVirtualEnvironment(
  base: Interpreter,
  prefix: string,
  progress: Progress,
  signal?: AbortSignal,
): Promise<void> {
  const uv = findProgram('uv');
  progress(`virtual environment of ${base.python}`);
  const made = uv
    ? await runCommand(uv, ['venv', '--no-config', '--link-mode', 'copy', '--python', base.python, prefix], {
        signal,
        umask,
      })
    : await runCommand(base.python, ['-I', '-m', 'venv', prefix], { signal, umask });
  if (made.exitCode === 0) return;
  throw new StepError(`${base.python} cannot make a virtual environment:\n${made.tail}`, {
    command: 'sudo apt-get install -y python3-venv',
  });
}

export interface Installation {
  readonly base: Interpreter;
  readonly prefix: string;
  /** The Python of the environment. */
  readonly python: string;
  readonly report: Report;
}

/** Installs the locked packages, or the newest versions that fit where the lock is not for this Python or machine. */
export async function installPackages({ base, prefix, python, report }: Installation, work: Work): Promise<void> {
  const settings = await pipSettings(findProgram('uv') ? base.python : python, work.signal);
  report({ kind: 'note', text: announcement(shownIndex(settings, installerVariables()), prefix) });
  const folder = `${prefix}.uv`;
  try {
    const uv = await provideUv({ python, folder, settings }, work);
    const { args, locked } = choosePackages(Number(base.version.split('.')[1]));
    if (!locked) report({ kind: 'note', text: unlocked(base.version) });
    requireInstalled(await install({ python, uv }, args, work));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What is about to be downloaded, how large it is, where it comes from and where it goes. */
export function announcement(index: string, prefix: string): string {
  const { downloadMB, installedMB } = standardSizes;
  const size = `about ${downloadMB} MB, ${(installedMB / 1000).toFixed(1)} GB installed`;
  return `Downloading ${lockedCount()} Python packages from ${index} (${size}) to ${prefix}`;
}

/**
 * The locked versions where they fit. SECURITY: this machine alone decides whether they do. An index that offers other
 * files, or none, would otherwise have us install what it likes, and the code of a package runs when Python starts.
 */
export function choosePackages(minor: number, machine: Machine = process): { args: string[]; locked: boolean } {
  const fits =
    minor >= pinnedMinors.from &&
    minor <= pinnedMinors.to &&
    machine.platform === 'linux' &&
    ['x64', 'arm64'].includes(machine.arch);
  if (!fits) return { args: standardPackages(), locked: false };
  return { args: ['--no-deps', '--require-hashes', '-r', requirementsFile()], locked: true };
}

type Machine = Pick<NodeJS.Process, 'platform' | 'arch'>;

function requireInstalled({ exitCode, tail }: CommandResult): void {
  if (exitCode === 0) return;
  const command = 'hotcell setup process';
  if (networkFault(tail)) throw new StepError(`No package index can be reached: ${networkFault(tail)}`, { command });
  throw new StepError(`Packages do not install:\n${tail}`, { command });
}

function install({ python, uv }: { python: string; uv: Uv | undefined }, packages: string[], work: Work) {
  const { progress, signal } = work;
  const onLine = (line: string) => progress(line.trim());
  const options = ['install', '--only-binary', ':all:'];
  if (uv) {
    const args = ['pip', ...options, '--python', python, ...uv.options, ...packages];
    return runCommand(uv.program, args, { signal, umask, onLine, env: uv.env });
  }
  const patience = ['--retries', '2', '--timeout', '20', '--no-input', '--disable-pip-version-check'];
  const args = ['-I', '-m', 'pip', ...options, '--no-compile', ...patience, ...packages];
  return runCommand(python, args, { signal, umask, onLine });
}

function unlocked(version: string): string {
  const { from, to } = pinnedMinors;
  return `The locked versions are for Python 3.${from} to 3.${to} on Linux. For Python ${version} here, the newest that fit are installed, whatever their hashes.`;
}

/** The line in which pip or uv reports a network failure. */
export function networkFault(output: string): string | undefined {
  return output
    .split('\n')
    .find((line) => networkFaults.some((words) => line.includes(words)))
    ?.trim();
}

const networkFaults = [
  'NewConnectionError',
  'ConnectTimeout',
  'SSLError',
  'Connection refused',
  'Network is unreachable',
  'Name or service not known',
  'Temporary failure in name resolution',
  'error sending request',
  'dns error',
];
