import { findProgram } from '../../../lib/find-program.ts';
import { shellQuoted } from '../../../lib/shell-quoted.ts';
import { type Progress, type Report, runStep, StepError } from '../../../lib/steps.ts';
import { type Confirm, runAsSuperuser } from '../../../lib/superuser.ts';
import { ownEnvironments, type PythonEnvironment } from '../python-environment.ts';
import { ensurePythonEnvironment, lacksInstaller } from './make-python-environment.ts';
import { missingProgramsText } from './missing-programs.ts';
import { installCommand, packageManagers, refreshCommand } from './system-packages.ts';

export interface ProcessSetup {
  dataDir: string;
  report: Report;
  confirm: Confirm;
  signal?: AbortSignal;
}

/** Installs bubblewrap from the distribution's packages, and creates Hotcell's Python environment. */
export async function setupProcess(options: ProcessSetup): Promise<{ bwrap: string; python: PythonEnvironment }> {
  const { dataDir, report, signal } = options;
  if (process.platform !== 'linux') {
    throw new StepError('The process driver needs Linux. Docker serves here.', { command: 'hotcell setup docker' });
  }
  const bwrap = await runStep(report, 'bubblewrap', (progress) => ensurePackages(options, progress), {
    note: (path) => path,
  });
  const python = await ensurePythonEnvironment({ dataDir, report, signal });
  const missing = missingProgramsText();
  if (missing !== undefined) report({ kind: 'note', text: missing });
  const earlier = earlierEnvironments(dataDir, python);
  if (earlier !== undefined) report({ kind: 'note', text: earlier });
  return { bwrap, python };
}

/** Environments that an upgrade left behind, a gigabyte each. Servers that still run may use them, so they are named only. */
function earlierEnvironments(dataDir: string, { prefix }: PythonEnvironment): string | undefined {
  const others = ownEnvironments(dataDir).flatMap((each) => (each.prefix === prefix ? [] : [each.prefix]));
  if (others.length === 0) return undefined;
  return `Earlier Python environments are still there. When no server from before this set-up runs (hotcell status): rm -r ${others.map(shellQuoted).join(' ')}`;
}

/** Installs everything that is missing with one command, so that the user is asked once. */
async function ensurePackages(options: ProcessSetup, progress: Progress): Promise<string> {
  const missing = { bubblewrap: !findProgram('bwrap'), venv: await lacksInstaller(options.signal) };
  if (missing.bubblewrap || missing.venv) await install(missing, options, progress);
  const bwrap = findProgram('bwrap');
  if (!bwrap) throw new StepError('bubblewrap is installed and yet there is no bwrap on the search path.');
  return bwrap;
}

async function install(
  missing: { bubblewrap: boolean; venv: boolean },
  options: ProcessSetup,
  progress: Progress,
): Promise<void> {
  const names = [missing.bubblewrap ? 'bubblewrap' : '', missing.venv ? 'Python’s venv module' : ''];
  const what = `Installing ${names.filter(Boolean).join(' and ')}`;
  const manager = packageManagers.find((name) => findProgram(name));
  if (!manager) {
    throw new StepError(`${what}: no package manager of this system is known here. Install it, then run again.`);
  }
  const command = installCommand(manager, missing);
  const { signal } = options;
  let agreed = false;
  const confirm: Confirm = async (question) => {
    agreed ||= await options.confirm(question);
    return agreed;
  };
  const run = (words: string[]) =>
    runAsSuperuser(what, words, { confirm, signal, env: { DEBIAN_FRONTEND: 'noninteractive' }, onLine: progress });
  let result = await run(command);
  const refresh = refreshCommand(manager);
  if (result.exitCode !== 0 && refresh) {
    await run(refresh);
    result = await run(command);
  }
  if (result.exitCode !== 0) {
    throw new StepError(`${what} failed:\n${result.tail}`, { command: `sudo ${command.join(' ')}` });
  }
}
