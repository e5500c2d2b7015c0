import { basename } from 'node:path';
import { loadConfig } from '../../config/load.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { ExecutionOptions } from '../../execution/execute.ts';
import { allLanguages } from '../../languages/table.ts';
import { type Hotcell, openHotcell, type Session } from '../../main.ts';
import { exitCodeOfOutcome } from '../../sandbox/exit-code.ts';
import type { KernelState } from '../../sandbox/outcome.ts';
import { painterFor, shownName } from '../print.ts';
import { printJson } from '../print-json.ts';
import { type Made, saveArtifacts, unsavedText, withoutMounted } from './artifacts.ts';
import { endingText, statusText } from './ending.ts';
import { listenForInterrupts } from './interrupts.ts';
import { jsonResult } from './json-result.ts';
import { languageOf } from './language.ts';
import { showLive } from './live-output.ts';
import { isNotebook, type NotebookEnd, readNotebook, runCells, writeNotebook } from './notebook.ts';
import { type RunFlags, runOptions } from './options.ts';
import { EXIT_NO_READER, watchReader } from './reader-gone.ts';
import { readSource, type Source } from './source.ts';

/** What a run leaves to say and to save. */
interface End extends Omit<NotebookEnd, 'executed'> {
  /** The notebook with its outputs, where it was one. */
  readonly executed?: NotebookEnd['executed'];
  readonly status?: string;
}

/** Runs a program in a sandbox of its own, shows what it prints, and answers with the exit code. */
export async function run(file: string, flags: RunFlags): Promise<number> {
  if (flags.server !== undefined) {
    const { runOnServer } = await import('./on-server.ts');
    return runOnServer(file, flags.server, flags);
  }
  const options = runOptions(flags);
  const notebook = isNotebook(file) ? await readNotebook(file, flags) : undefined;
  const source = notebook === undefined ? await readSource(file) : undefined;
  const { recipes } = loadConfig(options.hotcell);
  const language = source && languageOf(file, source.code, flags.language, allLanguages(recipes));
  let opening: Promise<Hotcell> | undefined;
  // Also what is only being opened: from its first moment on it has a place among the servers that would be left.
  const close = async () => (await opening?.catch(() => undefined))?.close();
  using interrupts = listenForInterrupts(close);
  const { signal } = interrupts;
  const readerGone = watchReader();
  try {
    opening = openHotcell(options.hotcell);
    const hotcell = await opening;
    const session = await hotcell.open({ ...options.open, signal });
    const limits = {
      signal: AbortSignal.any([signal, readerGone]),
      ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    };
    const end =
      source === undefined
        ? await runCells(session, notebook!, flags, { name: basename(file), ...limits })
        : await runProgram(session, source, flags, { ...limits, language: language! });
    if (readerGone.aborted) return EXIT_NO_READER;
    const made = withoutMounted(end.made, options.open.mounts ?? []);
    const saved = await savedOf(made, end.files, session, flags);
    if (flags.output !== undefined) await writeNotebook(flags.output, end.executed ?? (await session.exportNotebook()));
    if (flags.json) printJson({ ...end.json, ...(saved === undefined ? {} : { saved }) });
    else tell(end, made, saved);
    return end.exitCode;
  } catch (error) {
    const exitCode = interrupts.exitCode();
    if (exitCode !== undefined) return exitCode;
    throw error;
  } finally {
    await close();
  }
}

async function runProgram(session: Session, source: Source, flags: RunFlags, limits: ExecutionOptions): Promise<End> {
  const execution = session.run(source.code, { ...limits, filename: source.filename });
  if (!flags.json) await showLive(execution, process);
  const result = await execution;
  const exitCode = exitCodeOfOutcome(result.outcome);
  return {
    exitCode,
    made: result,
    files: result.files,
    json: jsonResult(result, exitCode),
    ending: endingText(result.outcome),
    status: statusText(result),
  };
}

async function savedOf(
  made: Made,
  files: KernelState,
  session: Session,
  flags: RunFlags,
): Promise<string[] | undefined> {
  if (flags.saveArtifacts === undefined) return undefined;
  if (files === 'lost') return [];
  return saveArtifacts(made, session.files, flags.saveArtifacts).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof HotcellError) throw error;
    throw new HotcellError('invalid_argument', `--save-artifacts: ${error.message}`, {
      remedy: 'Name a folder that you may write to.',
    });
  });
}

/** Everything that is ours to say goes to stderr: stdout is the program's. */
function tell({ ending, status }: End, made: Made, saved: readonly string[] | undefined): void {
  const paint = painterFor(process.stderr);
  const say = (text: string | undefined) => text === undefined || process.stderr.write(`${text}\n`);
  say(ending);
  if (saved === undefined) say(unsavedText(made));
  else if (saved.length > 0) say(`hotcell: saved ${saved.map(shownName).join(', ')}`);
  if (process.stderr.isTTY && status !== undefined) say(paint('dim', status));
}
