import { setTimeout as sleep } from 'node:timers/promises';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { LiveSandbox } from '../guest/live-sandbox.ts';
import { type Languages, languageNamed } from '../languages/table.ts';
import { newId } from '../lib/ids.ts';
import { type Collector, createCollector, type OutputLimits } from './collect.ts';
import type { CoreSession as Session } from './core-session.ts';
import { EventReaders } from './event-readers.ts';
import type { ExecutionEvent } from './events.ts';
import type { ExecutionResult } from './result.ts';
import { type KernelRun, outcomeOf, type RunEnd, runInGuest } from './run.ts';

/** One execution: iterate over it for what happens, await it for the result. Both at once is fine; neither is needed for it to run. */
export interface Execution extends AsyncIterable<ExecutionEvent>, PromiseLike<ExecutionResult> {
  readonly id: string;
  /** What was printed so far: the beginning and the end of it, as in the result. */
  partial(): PartialOutput;
}

export interface PartialOutput {
  readonly stdout: string;
  readonly stderr: string;
}

export interface ExecutionOptions {
  /** Cancels it: the code is interrupted, variables are kept where it lets itself be interrupted. */
  readonly signal?: AbortSignal;
  /** After this it is ended, with the outcome `timed-out`. */
  readonly timeoutMs?: number;
  /** `python` by default; `session.languages()` says which there are. */
  readonly language?: string;
  /** Shown in tracebacks. */
  readonly filename?: string;
  /** Whether the traceback of a failure shows the names and short values where it failed. */
  readonly tracebackLocals?: boolean;
  /** What to do while another execution runs. */
  readonly busy?: 'wait' | 'refuse';
  /** Called when its turn has come. */
  readonly onBegin?: () => void;
}

export interface ExecutionPolicy {
  readonly defaultTimeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly maxCodeBytes: number;
  readonly languages: Languages;
  readonly output: OutputLimits;
}

const MOST_FILENAME_CHARS = 4_096;

/** Runs code in a session. Bad arguments and what Hotcell cannot do reject the result; however the code ends is an outcome. */
export function execute(session: Session, code: string, options: ExecutionOptions, policy: ExecutionPolicy): Execution {
  const id = newId('x');
  const readers = new EventReaders();
  let collector: Collector | undefined;
  const began = (made: Collector) => {
    collector = made;
    options.onBegin?.();
  };
  const result = (async () => {
    await undefined; // whoever iterates does so before the first event
    const run = checkedRun(id, code, `<execution ${session.nextNumber()}>`, options, policy);
    return session.inOrder((live, restarted) => runOne(session, live, restarted, run, policy, readers, began), {
      busy: options.busy ?? 'wait',
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  })();
  let printed: PartialOutput = { stdout: '', stderr: '' };
  result.then(
    ({ stdout, stderr }) => {
      printed = { stdout, stderr };
      collector = undefined;
      readers.end();
    },
    (error: unknown) => {
      printed = printedTo(collector);
      collector = undefined;
      readers.end(error);
    },
  );
  return {
    id,
    partial: () => (collector === undefined ? printed : printedTo(collector)),
    // biome-ignore lint/suspicious/noThenProperty: an execution is awaited as often as it is iterated over
    then: (onResult, onError) => result.then(onResult, onError),
    [Symbol.asyncIterator]: () => readers.open(),
  };
}

function printedTo(collector: Collector | undefined): PartialOutput {
  const { stdout = '', stderr = '' } = collector?.parts() ?? {};
  return { stdout, stderr };
}

async function runOne(
  session: Session,
  live: LiveSandbox,
  restarted: string | undefined,
  run: KernelRun,
  policy: ExecutionPolicy,
  readers: EventReaders,
  began: (collector: Collector) => void,
): Promise<ExecutionResult> {
  const startedAt = performance.now();
  const collector = createCollector(
    `${session.logFolder}/${run.executionId}.log`,
    policy.output,
    (event) => readers.push(event),
    () => readers.isListening(),
  );
  began(collector);
  live.onGap = (bytes) => collector.addGap(bytes);
  try {
    const end = await runInGuest(live.connection, { ...run, onInterrupt: () => readers.stopWaiting() }, collector);
    if (end.kind === 'lost') {
      live.connection.close(end.error);
      // The result does not wait for the wreck to be cleared; closing the session does.
      live.sandbox.dispose().catch(() => {});
    }
    const memoryKilled =
      end.kind === 'finished' && end.end.outcome.kind === 'kernel-died' && (await live.sawMemoryKill());
    await collector.close();
    return {
      executionId: run.executionId,
      language: run.language.name,
      ...collector.parts(),
      ...(end.kind === 'finished'
        ? finishedParts(session, end, run, memoryKilled)
        : await lostParts(session, live, end, run, performance.now() - startedAt)),
      ...restartedPart(restarted ?? (end.kind === 'finished' ? end.end.restarted : undefined)),
      isolation: session.isolationOf(live),
    };
  } finally {
    live.onGap = undefined;
  }
}

function restartedPart(reason: string | undefined): { restarted?: string } {
  return reason === undefined ? {} : { restarted: reason };
}

type EndParts = Omit<
  ExecutionResult,
  'executionId' | 'language' | 'isolation' | 'restarted' | keyof ReturnType<Collector['parts']>
>;

function finishedParts(
  session: Session,
  { end }: RunEnd & { kind: 'finished' },
  run: KernelRun,
  memoryKilled: boolean,
): EndParts {
  return {
    outcome: outcomeOf(end.outcome, session.spec.limits, run, memoryKilled),
    artifacts: end.artifacts,
    artifactsOmitted: end.artifactsOmitted,
    ...(end.variables === undefined ? {} : { variables: end.variables }),
    durationMs: end.durationMs,
    cpuMs: end.cpuMs,
    peakMemoryBytes: end.peakMemoryBytes,
    state: end.state,
    files: 'kept',
  };
}

/** The sandbox went while the code ran: an outcome all the same, and the session makes another for the next. */
async function lostParts(
  session: Session,
  live: LiveSandbox,
  end: RunEnd & { kind: 'lost' },
  run: KernelRun,
  durationMs: number,
): Promise<EndParts> {
  if (end.error.code === 'session_closed') throw end.error;
  const sandboxEnd = await Promise.race([live.sandbox.ended, sleep(1_000, { kind: 'lost' as const }, { ref: false })]);
  const limitBytes = session.spec.limits.memoryBytes;
  return {
    outcome:
      end.interrupted === 'timed-out'
        ? { kind: 'timed-out', limitMs: run.timeoutMs }
        : end.interrupted === 'cancelled'
          ? { kind: 'interrupted' }
          : sandboxEnd.kind === 'out-of-memory'
            ? { kind: 'out-of-memory', limitBytes }
            : { kind: 'sandbox-lost', reason: 'detail' in sandboxEnd ? sandboxEnd.detail : end.error.message },
    artifacts: [],
    artifactsOmitted: 0,
    durationMs,
    cpuMs: 0,
    peakMemoryBytes: 0,
    state: 'lost',
    files: 'lost',
  };
}

function checkedRun(
  executionId: string,
  code: string,
  name: string,
  options: ExecutionOptions,
  policy: ExecutionPolicy,
): KernelRun {
  const bytes = Buffer.from(code, 'utf8');
  if (bytes.length > policy.maxCodeBytes) {
    throw new HotcellError(
      'code_too_large',
      `the code has ${bytes.length} bytes; the limit is ${policy.maxCodeBytes}`,
      {
        remedy: 'Write large data to a file of the workspace and read it from the code.',
        data: { sizeBytes: bytes.length, limitBytes: policy.maxCodeBytes },
      },
    );
  }
  const filename = options.filename ?? name;
  if (filename.length > MOST_FILENAME_CHARS || filename.includes('\0')) {
    throw new HotcellError('invalid_argument', `filename: has a NUL or more than ${MOST_FILENAME_CHARS} characters`, {
      remedy: 'Give a short name: it is only shown.',
    });
  }
  const timeoutMs = options.timeoutMs ?? policy.defaultTimeoutMs;
  if (!Number.isFinite(timeoutMs) || timeoutMs <= 0 || timeoutMs > policy.maxTimeoutMs) {
    throw new HotcellError('invalid_argument', `timeoutMs: ${timeoutMs} is not between 1 and ${policy.maxTimeoutMs}`, {
      remedy: 'Give a positive number of milliseconds.',
    });
  }
  return {
    executionId,
    code: bytes,
    language: languageNamed(policy.languages, options.language ?? 'python'),
    filename,
    ...(options.tracebackLocals === true ? { tracebackLocals: true } : {}),
    timeoutMs,
    signal: options.signal,
  };
}
