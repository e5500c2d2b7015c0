import { loadConfig } from '../../config/load.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { errorText, exitCodeOf, presentError } from '../../errors/present.ts';
import type { ExecutionResult } from '../../execution/result.ts';
import { allLanguages } from '../../languages/table.ts';
import { type Hotcell, openHotcell, type Session } from '../../main.ts';
import type { KernelState } from '../../sandbox/outcome.ts';
import { painterFor, shownName } from '../print.ts';
import { type Made, saveArtifacts, unsavedText, withoutMounted } from './artifacts.ts';
import { endingText, statusText } from './ending.ts';
import { exitCodeOfOutcome } from './exit-code.ts';
import { listenForInterrupts } from './interrupts.ts';
import { jsonResult } from './json-result.ts';
import { languageOf } from './language.ts';
import { showLive } from './live-output.ts';
import { type RunFlags, runOptions } from './options.ts';
import { readSource } from './source.ts';

/** As a program that SIGPIPE ended. */
const EXIT_NO_READER = 141;

/** Runs a program in a sandbox of its own, shows what it prints, and answers with the exit code. */
export async function run(file: string, flags: RunFlags): Promise<number> {
  try {
    return await runChecked(file, flags);
  } catch (thrown) {
    if (flags.json) printJson({ error: presentError(thrown), exitCode: exitCodeOf(thrown) });
    else process.stderr.write(`${errorText(thrown)}\n`);
    return exitCodeOf(thrown);
  }
}

async function runChecked(file: string, flags: RunFlags): Promise<number> {
  const options = runOptions(flags);
  const source = await readSource(file);
  const { recipes } = loadConfig(options.hotcell);
  const language = languageOf(file, source.code, flags.language, allLanguages(recipes));
  let hotcell: Hotcell | undefined;
  using interrupts = listenForInterrupts(async () => hotcell?.close());
  const { signal } = interrupts;
  const readerGone = watchReader();
  try {
    hotcell = await openHotcell(options.hotcell);
    const session = await hotcell.open({ ...options.open, signal });
    const execution = session.run(source.code, {
      signal: AbortSignal.any([signal, readerGone]),
      filename: source.filename,
      language,
      ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    });
    if (!flags.json) await showLive(execution, process);
    const result = await execution;
    if (readerGone.aborted) return EXIT_NO_READER;
    const made = withoutMounted(result, options.open.mounts ?? []);
    const saved = await savedOf(made, result.files, session, flags);
    const exitCode = exitCodeOfOutcome(result.outcome);
    if (flags.json) printJson(jsonResult(result, exitCode, saved));
    else tell(result, made, saved);
    return exitCode;
  } catch (error) {
    const exitCode = interrupts.exitCode();
    if (exitCode !== undefined) return exitCode;
    throw error;
  } finally {
    await hotcell?.close();
  }
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
function tell(result: ExecutionResult, made: Made, saved: readonly string[] | undefined): void {
  const paint = painterFor(process.stderr);
  const say = (text: string | undefined) => text === undefined || process.stderr.write(`${text}\n`);
  say(endingText(result.outcome));
  if (saved === undefined) say(unsavedText(made));
  else if (saved.length > 0) say(`hotcell: saved ${saved.map(shownName).join(', ')}`);
  if (process.stderr.isTTY) say(paint('dim', statusText(result)));
}

/** `hotcell run … | head`: nobody reads any more, so the program need not go on. */
function watchReader(): AbortSignal {
  const abort = new AbortController();
  process.stdout.on('error', () => abort.abort());
  return abort.signal;
}

function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}
