import { HotcellError } from '../../errors/hotcell-error.ts';
import type { Artifact, Display, ExecutionResult } from '../../execution/result.ts';
import type { Session } from '../../main.ts';
import { LARGEST_NOTEBOOK_BYTES, type Notebook, parseNotebook } from '../../notebooks/nbformat.ts';
import { notebookText } from '../../notebooks/write.ts';
import type { KernelState, Outcome } from '../../sandbox/outcome.ts';
import { exitCodeOfOutcome } from '../../sandbox/outcome-table.ts';
import type { NamedFile } from '../named-file.ts';
import type { Outputs } from '../output.ts';
import type { Writable } from '../part-below.ts';
import { writeOutput } from '../write-output.ts';
import type { Made } from './artifacts.ts';
import { endingText, refusedText } from './ending.ts';
import { jsonResult } from './json-result.ts';
import { showLive } from './live-output.ts';
import type { RunFlags } from './options.ts';
import { readProgram } from './source.ts';

/** The messages and files that the run of a notebook leaves. */
export interface NotebookEnd {
  readonly exitCode: number;
  readonly made: Made;
  readonly files: KernelState;
  readonly executed: Notebook;
  readonly json: Readonly<Record<string, unknown>>;
  /** Message about the end, if the user needs one. */
  readonly ending: string | undefined;
}

/** Reads and checks a notebook before a sandbox is started. */
export async function readNotebook(file: string, flags: RunFlags, writable: Writable): Promise<Notebook> {
  if (flags.language !== undefined) {
    throw new HotcellError('invalid_argument', '--language: a notebook already names its language', {
      remedy: 'Remove the flag.',
    });
  }
  return parseNotebook(await readProgram(file, { writable, limitBytes: LARGEST_NOTEBOOK_BYTES }), file);
}

/** Runs the cells and shows their output and, as a notebook does, their values. */
export async function runCells(
  session: Session,
  notebook: Notebook,
  flags: RunFlags,
  { outputs, ...options }: { name: string; signal: AbortSignal; timeoutMs?: number; outputs: Outputs },
): Promise<NotebookEnd> {
  const made = createMade();
  const cells: unknown[] = [];
  let failure: { number: number; outcome: Outcome } | undefined;
  let files: KernelState = 'kept';
  const run = session.runNotebook(notebook, {
    ...options,
    keepGoing: flags.keepGoing === true,
    onCell: async (_, execution) => {
      if (!flags.json) await showLive(execution, outputs);
    },
  });
  for await (const { number, index, result, failed } of run) {
    const { outcome, value } = result;
    if (failed) failure ??= { number, outcome };
    if (result.files === 'lost') files = 'lost';
    made.add(result);
    if (flags.json) cells.push({ index, number, failed, ...jsonResult(result, exitCodeOfOutcome(outcome)) });
    else {
      if (value !== undefined) await outputs.stdout.show(`${value.text}\n`);
      const text = endingText(outcome);
      if (text !== undefined) await outputs.stderr.say(text);
      if (result.network !== undefined) await outputs.stderr.say(refusedText(result.network));
    }
  }
  const { ok, cellsNotRun, notebook: executed } = await run;
  const exitCode = failure === undefined ? 0 : exitCodeOfOutcome(failure.outcome);
  return {
    exitCode,
    made: made.all(),
    files,
    executed,
    json: { exitCode, ok, cellsNotRun, cells },
    ending: failure === undefined ? undefined : failureText(failure.number, cellsNotRun),
  };
}

/** Writes a notebook to the host, for `--output`. */
export async function writeNotebook(file: NamedFile, notebook: Notebook): Promise<void> {
  await writeOutput(file, notebookText(notebook)).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof HotcellError) throw error;
    throw new HotcellError('invalid_argument', `${file.typed}: cannot be written (${error.code ?? error.message})`, {
      remedy: 'Choose a file in an existing folder that you may write to.',
    });
  });
}

function failureText(number: number, notRun: number): string {
  const rest =
    notRun === 0 ? '' : `; ${notRun} later ${notRun === 1 ? 'cell' : 'cells'} not run (--keep-going runs them)`;
  return `hotcell: code cell ${number} failed${rest}.`;
}

/** Collects the files of all cells. A file that several cells changed is listed with its last change. */
function createMade() {
  const artifacts = new Map<string, Artifact>();
  const displays: Display[] = [];
  return {
    add(result: ExecutionResult): void {
      for (const artifact of result.artifacts) artifacts.set(artifact.path, artifact);
      displays.push(...result.displays);
    },
    all: (): Made => ({ artifacts: [...artifacts.values()], displays }),
  };
}
