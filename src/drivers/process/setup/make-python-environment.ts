import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exclusively } from '../../../lib/exclusive.ts';
import { findProgram } from '../../../lib/find-program.ts';
import { makeOwnFolder } from '../../../lib/own-folder.ts';
import { runCommand } from '../../../lib/run-command.ts';
import { type Report, runStep, StepError, type Work } from '../../../lib/steps.ts';
import { homeFolder } from '../../../lib/user-folders.ts';
import { contentHash, finishProgram, requirementsHash, standardEnvironment } from '../../python-packages.ts';
import { coveringPlace } from '../covered-places.ts';
import { chooseInterpreter, firstBarrier, type Interpreter } from '../interpreter.ts';
import {
  describePackages,
  describeSystemPython,
  findOwn,
  type PythonEnvironment,
  type ReadyRecord,
  readRecord,
  readyFile,
} from '../python-environment.ts';
import { installPackages, makeVirtualEnvironment } from './install-packages.ts';

/**
 * Creates our own environment unless it exists. Without a package index the system's Python is used, and the report
 * says so.
 */
export async function ensurePythonEnvironment(options: {
  dataDir: string;
  report: Report;
  signal?: AbortSignal;
}): Promise<PythonEnvironment> {
  const { dataDir, report, signal } = options;
  const present = findOwn(dataDir);
  if (present && present.requirements === requirementsHash()) {
    return runStep(report, 'Python environment', async () => present, { note: describe });
  }
  try {
    return await runStep(report, 'Python environment', (progress) => make(dataDir, report, { progress, signal }), {
      note: describe,
    });
  } catch (error) {
    signal?.throwIfAborted();
    const system = present ?? (await describeSystemPython(signal));
    if (!system) throw error;
    const lacks = system.missing.length > 0 ? `, without ${system.missing.join(', ')}` : '';
    const which = present ? 'The earlier environment' : `The system’s Python ${system.version}`;
    report({ kind: 'note', text: `${which} serves until then${lacks}.` });
    return system;
  }
}

async function make(dataDir: string, report: Report, { progress, signal }: Work): Promise<PythonEnvironment> {
  const asRoot = process.getuid?.() === 0;
  const root = join(dataDir, 'python');
  const covered = coveringPlace([root]);
  if (covered) {
    throw new StepError(
      `Sandboxes have a ${covered} of their own and would not see an environment below ${covered}. Use a data folder elsewhere, in this and in every later command.`,
      {
        command: `export HOTCELL_HOME=${coveringPlace([homeFolder()]) ? '/srv/hotcell' : '~/hotcell'} && hotcell setup process`,
      },
    );
  }
  makeOwnFolder(root, 0o755, { rootsToo: true });
  await openToOthers(dataDir, root);
  progress('looking for a Python');
  const base = await chooseInterpreter(signal);
  if (!base) {
    throw new StepError('There is no Python of at least 3.9 that every user of this machine can read.', {
      command: 'sudo apt-get install -y python3 python3-venv',
    });
  }
  const barrier = asRoot ? firstBarrier(root) : undefined;
  if (barrier) {
    throw new StepError(`Sandboxes run as an unprivileged user, who cannot pass ${barrier}.`, {
      command: `chmod o+x ${barrier}`,
    });
  }
  const requirements = requirementsHash();
  const prefix = join(root, contentHash(requirements, base.python, base.version));
  return exclusively(
    `${prefix}.lock`,
    // Another process may have made it while this one waited.
    async () => readRecord(prefix) ?? (await build({ prefix, base, requirements, report }, { progress, signal })),
    { signal, onWait: (pid) => progress(`process ${pid} is making it`) },
  );
}

interface Build {
  readonly prefix: string;
  readonly base: Interpreter;
  readonly requirements: string;
  readonly report: Report;
}

/** Scripts of a virtual environment contain its absolute path, so it is built in place and marked ready last. */
async function build({ prefix, base, requirements, report }: Build, work: Work): Promise<PythonEnvironment> {
  const { progress, signal } = work;
  await rm(prefix, { recursive: true, force: true });
  try {
    await makeVirtualEnvironment(base, prefix, progress, signal);
    const python = join(prefix, 'bin', 'python3');
    await installPackages({ base, prefix, python, report }, work);
    progress('compiling, and listing fonts');
    const { stdout } = await runCommand(python, ['-I', finishProgram(), prefix], { signal, umask: '022' });
    const lacking = stdout.trim();
    if (lacking !== '') report({ kind: 'note', text: `${lacking}\n${fontAdvice(prefix)}` });
    const record: ReadyRecord = {
      kind: 'own',
      python,
      prefix,
      basePrefix: base.basePrefix,
      requirements,
      madeAt: new Date().toISOString(),
      ...(await describePackages(python, signal)),
    };
    // An installer may have linked files from a cache with a stricter umask.
    await runCommand(findProgram('chmod') ?? '/bin/chmod', ['-R', 'a+rX,go-w', prefix], { signal });
    const draft = join(prefix, `${readyFile}.draft`);
    // SECURITY: the file is never writable for other users, whatever the umask is: a process that has it open for
    // writing could write even after its mode has changed.
    await writeFile(draft, `${JSON.stringify(record, null, 2)}\n`, { flag: 'wx', mode: 0o644 });
    await chmod(draft, 0o644);
    await rename(draft, join(prefix, readyFile));
    return record;
  } catch (error) {
    // Workers of a program that was interrupted may write a last file while the folder is removed.
    await rm(prefix, { recursive: true, force: true, maxRetries: 5 });
    throw error;
  }
}

function fontAdvice(prefix: string): string {
  const fonts = Object.values(standardEnvironment().fonts).flatMap(({ debian }) => debian ?? []);
  return `To add fonts, install them (Debian: ${fonts.join(' ')}), then: rm -r ${prefix} && hotcell setup process`;
}

/** Opens the data folder to other users; the folders above it are left unchanged. Files keep their own modes. */
async function openToOthers(dataDir: string, root: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  if (firstBarrier(dirname(dataDir)) === undefined && firstBarrier(dataDir)) await chmod(dataDir, 0o711);
  await chmod(root, 0o755);
}

function describe(environment: PythonEnvironment): string {
  const whose = environment.kind === 'own' ? '' : 'the system’s ';
  return `${whose}Python ${environment.version}, ${Object.keys(environment.packages).length} packages`;
}

/** Whether creating an environment needs more than Python: the module that Debian ships separately, or uv. */
export async function lacksInstaller(signal?: AbortSignal): Promise<boolean> {
  if (findProgram('uv')) return false;
  const base = await chooseInterpreter(signal);
  return !base?.hasEnsurePip;
}
