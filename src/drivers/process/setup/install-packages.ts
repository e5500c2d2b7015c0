import { findProgram } from '../../../lib/find-program.ts';
import { runCommand } from '../../../lib/run-command.ts';
import { type Progress, StepError } from '../../../lib/steps.ts';
import { pinnedFromMinor, requirementsFile, standardPackages } from '../../python-packages.ts';
import type { Interpreter } from '../interpreter.ts';

/** Installed files are readable for all users, whatever the umask of the person who installs. */
const umask = '022';

/** Creates an empty virtual environment with pip: by uv if installed, else by Python itself. */
export async function makeVirtualEnvironment(
  base: Interpreter,
  prefix: string,
  progress: Progress,
  signal?: AbortSignal,
): Promise<void> {
  const uv = findProgram('uv');
  progress(`virtual environment of ${base.python}`);
  const made = uv
    ? await runCommand(uv, ['venv', '--seed', '--no-config', '--link-mode', 'copy', '--python', base.python, prefix], {
        signal,
        umask,
      })
    : await runCommand(base.python, ['-I', '-m', 'venv', prefix], { signal, umask });
  if (made.exitCode === 0) return;
  // uv downloads the pip that it installs.
  if (networkFault(made.tail)) throw unreachable(made.tail);
  throw new StepError(`${base.python} cannot make a virtual environment:\n${made.tail}`, {
    command: 'sudo apt-get install -y python3-venv',
  });
}

/** Installs the pinned packages, or any versions that fit if the pinned ones do not fit this Python or machine. */
export async function installPackages(
  base: Interpreter,
  python: string,
  progress: Progress,
  signal?: AbortSignal,
): Promise<void> {
  const minor = Number(base.version.split('.')[1]);
  const pinned = ['-r', requirementsFile()];
  const unpinned = [...standardPackages];
  const choices = minor >= pinnedFromMinor ? [pinned, unpinned] : [unpinned];
  let tail = '';
  for (const choice of choices) {
    const result = await install(python, choice, progress, signal);
    if (result.exitCode === 0) return;
    tail = result.tail;
    if (networkFault(tail)) break;
  }
  if (networkFault(tail)) throw unreachable(tail);
  throw new StepError(`Packages do not install:\n${tail}`, { command: 'hotcell setup process' });
}

function unreachable(tail: string): StepError {
  const command = 'hotcell setup process';
  return new StepError(`No package index can be reached: ${networkFault(tail)}`, { command });
}

function install(python: string, packages: string[], progress: Progress, signal?: AbortSignal) {
  const uv = findProgram('uv');
  const onLine = (line: string) => progress(line.trim());
  if (uv) {
    // Copy mode: a hard link into the user's cache would share modes and contents with it.
    const options = ['pip', 'install', '--python', python, '--only-binary', ':all:', '--link-mode', 'copy'];
    return runCommand(uv, [...options, ...packages], { signal, umask, onLine });
  }
  const options = [
    '-I',
    '-m',
    'pip',
    'install',
    '--only-binary',
    ':all:',
    '--no-compile',
    '--disable-pip-version-check',
  ];
  const patience = ['--retries', '2', '--timeout', '20', '--no-input'];
  return runCommand(python, [...options, ...patience, ...packages], { signal, umask, onLine });
}

/** The line in which pip or uv reports a network failure. Other package versions would not help then. */
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
