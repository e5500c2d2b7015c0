import { basename } from 'node:path';
import { loadConfig } from '../../config/load.ts';
import type { ExecutionOptions } from '../../execution/execution.ts';
import { allLanguages } from '../../languages/table.ts';
import { type Hotcell, openHotcell, type Session } from '../../main.ts';
import type { Driver } from '../../sandbox/driver.ts';
import type { Host } from '../../sandbox/host.ts';
import type { KernelState } from '../../sandbox/outcome.ts';
import { exitCodeOfOutcome } from '../../sandbox/outcome-table.ts';
import { holdFile } from '../named-file.ts';
import type { NamedPlace } from '../named-place.ts';
import { type Outputs, standardOutputs } from '../output.ts';
import {
  exitCodeWith,
  holdArtifactsFolder,
  type Made,
  type Saved,
  saveArtifacts,
  savedLines,
  unsavedText,
  withoutMounted,
} from './artifacts.ts';
import { endingText, refusedText, statusText } from './ending.ts';
import { installFirst } from './install-first.ts';
import { listenForInterrupts } from './interrupts.ts';
import { jsonResult } from './json-result.ts';
import { isNotebook, languageOf } from './language.ts';
import { showLive } from './live-output.ts';
import type { NotebookEnd } from './notebook.ts';
import { type RunFlags, runOptions, writableSources } from './options.ts';
import { EXIT_NO_READER, watchReader } from './reader-gone.ts';
import { namedProgram, readSource, type Source } from './source.ts';
import { wantedPackages } from './wanted-packages.ts';

/** The messages and files that a run leaves. */
interface End extends Omit<NotebookEnd, 'executed'> {
  /** The notebook with its outputs, if the program was one. */
  readonly executed?: NotebookEnd['executed'];
  readonly status?: string;
  /** Text about connections that were refused. */
  readonly refused?: string;
}

/** Runs a program in a sandbox of its own, shows its output, and returns the exit code. */
export async function run(named: string | undefined, flags: RunFlags): Promise<number> {
  const file = namedProgram(named, flags);
  if (flags.server !== undefined) {
    const { runOnServer } = await import('./on-server.ts');
    return runOnServer(file, flags.server, flags);
  }
  const outputs = standardOutputs();
  const options = runOptions(flags);
  const writable = writableSources(options);
  // SECURITY: held open before the program starts, because it could replace them by links.
  using folder = flags.saveArtifacts === undefined ? undefined : holdArtifactsFolder(flags.saveArtifacts, { writable });
  using output = flags.output === undefined ? undefined : holdFile(flags.output, { writable });
  const notebooks = isNotebook(file) || output !== undefined ? await import('./notebook.ts') : undefined;
  const notebook = isNotebook(file) ? await notebooks?.readNotebook(file, flags, writable) : undefined;
  const source = notebook === undefined ? await readSource(file, { code: flags.code, writable }) : undefined;
  const { recipes } = loadConfig(options.hotcell);
  const language = source && languageOf(file, source.code, flags.language, allLanguages(recipes));
  let opening: Promise<Hotcell> | undefined;
  // Also closes a Hotcell that is still opening, because opening already leaves traces on the host.
  const close = async () => (await opening?.catch(() => undefined))?.close();
  using interrupts = listenForInterrupts(close);
  const { signal } = interrupts;
  const readerGone = watchReader();
  try {
    opening = openHotcell({ ...options.hotcell, drivers: { process: singleJail }, about: () => ({ command: 'run' }) });
    const hotcell = await opening;
    const session = await hotcell.open({ ...options.open, signal });
    const limits = {
      signal: AbortSignal.any([signal, readerGone]),
      ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    };
    const program = source && { code: source.code, language: language! };
    const packages = wantedPackages(flags.with, program);
    const install = () => session.install(packages, { signal: limits.signal });
    await installFirst(packages, flags.json ? undefined : outputs.stderr, install);
    const { environment = {} } = options;
    const end =
      source === undefined
        ? await notebooks!.runCells(session, notebook!, flags, { name: basename(file), outputs, ...limits })
        : await runProgram(session, source, flags.json ? undefined : outputs, {
            ...limits,
            environment,
            language: language!,
          });
    if (readerGone.aborted) return EXIT_NO_READER;
    const made = withoutMounted(end.made, options.open.mounts ?? []);
    const saved = await savedOf(made, end.files, session, folder);
    if (output !== undefined) await notebooks?.writeNotebook(output, end.executed ?? (await session.exportNotebook()));
    const exitCode = exitCodeWith(end.exitCode, saved);
    if (flags.json) await outputs.stdout.json({ ...end.json, ...saved, exitCode });
    else await tell(end, made, saved, outputs);
    return exitCode;
  } catch (error) {
    const exitCode = interrupts.exitCode();
    if (exitCode !== undefined) return exitCode;
    throw error;
  } finally {
    await close();
  }
}

/** A driver without a zygote, which only speeds up later sessions. */
async function singleJail(host: Host): Promise<Driver> {
  const { createProcessDriver } = await import('../../drivers/process/index.ts');
  return createProcessDriver(host, { shape: 'single' });
}

async function runProgram(
  session: Session,
  source: Source,
  outputs: Outputs | undefined,
  limits: ExecutionOptions,
): Promise<End> {
  const execution = session.run(source.code, { ...limits, filename: source.filename });
  if (outputs !== undefined) await showLive(execution, outputs);
  const result = await execution;
  const exitCode = exitCodeOfOutcome(result.outcome);
  return {
    exitCode,
    made: result,
    files: result.files,
    json: jsonResult(result, exitCode),
    ending: endingText(result.outcome),
    ...(result.network === undefined ? {} : { refused: refusedText(result.network) }),
    status: statusText(result),
  };
}

async function savedOf(
  made: Made,
  files: KernelState,
  session: Session,
  folder: NamedPlace | undefined,
): Promise<Saved | undefined> {
  if (folder === undefined) return undefined;
  if (files === 'lost') return { saved: [], notSaved: [] };
  return saveArtifacts(made, session.files, folder);
}

/** Hotcell's own messages go to stderr: stdout belongs to the program. */
async function tell(
  { ending, refused, status }: End,
  made: Made,
  saved: Saved | undefined,
  { stderr }: Outputs,
): Promise<void> {
  const unsaved = saved === undefined ? unsavedText(made) : undefined;
  if (ending !== undefined) await stderr.say(ending);
  if (refused !== undefined) await stderr.say(refused);
  if (unsaved !== undefined) await stderr.say(unsaved);
  for (const line of saved === undefined ? [] : savedLines(saved)) await stderr.say(line);
  if (stderr.isTTY && status !== undefined) await stderr.say(stderr.paint('dim', status));
}
