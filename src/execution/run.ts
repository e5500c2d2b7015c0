import { HotcellError } from '../errors/hotcell-error.ts';
import type { GuestConnection } from '../guest/connection.ts';
import { nothing } from '../guest/messages.ts';
import { GuestRefusal } from '../guest/pending-requests.ts';
import { hintFor, type Language } from '../languages/table.ts';
import { deferred } from '../lib/deferred.ts';
import { saidInside } from '../lib/said-inside.ts';
import type { Outcome } from '../sandbox/outcome.ts';
import type { GuestOutcome } from '../sandbox/outcome-table.ts';
import type { Limits } from '../sandbox/spec.ts';
import { createExecutionClock, type ExecutionClock } from './clock.ts';
import type { CollectedEnd, Collector } from './collect.ts';
import type { CommandRun } from './command-run.ts';

export interface KernelRun {
  readonly executionId: string;
  readonly code: Buffer;
  readonly language: Language;
  /** File name shown in tracebacks. */
  readonly filename: string;
  readonly tracebackLocals?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** The clock of `timeoutMs`, if calls of the execution may pause it. */
  readonly clock?: ExecutionClock;
  readonly signal?: AbortSignal | undefined;
  /** The run of a command, with the members of `execute` that describe its input. */
  readonly command?: CommandRun & { readonly members: object };
  /**
   * Called when the ladder begins. From then on slow readers apply no backpressure, so that the guest can report the
   * end.
   */
  readonly onInterrupt?: () => void;
}

/** How a run ended: as the guest reported, or with the loss of the sandbox. */
export type RunEnd =
  | { readonly kind: 'finished'; readonly end: CollectedEnd }
  | { readonly kind: 'lost'; readonly error: HotcellError; readonly interrupted?: InterruptReason };

export type InterruptReason = 'timed-out' | 'cancelled';

/**
 * Timeout of the host after an interrupt. The guest's ladder takes at most two seconds; a guest that is silent for
 * longer is lost.
 */
const LADDER_MS = 4_000;
const LADDER_BEATS = 8;

/**
 * Runs code in the guest behind `connection` and hands every frame to `collector`. Resolves within the limits of its clock
 * plus `LADDER_MS`, whatever the code or the guest does. Rejects only if the run never began.
 */
export async function runInGuest(connection: GuestConnection, run: KernelRun, collector: Collector): Promise<RunEnd> {
  const over = deferred<Error | undefined>();
  const stream = connection.openStream((frame) => {
    const received = collector.receive(frame);
    if (collector.finished() !== undefined) over.resolve(undefined);
    return received;
  }, over.resolve);
  const ladder = startLadder(connection, run, () => over.resolve(silentGuest()));
  const head = {
    ...{ type: 'execute', execution: run.executionId, stream: stream.id, filename: run.filename },
    ...(run.tracebackLocals === true ? { tracebackLocals: true } : {}),
    ...(run.environment === undefined ? {} : { environment: run.environment }),
    ...languageMembers(run.language),
    ...(run.command === undefined ? {} : { command: run.command.members }),
  };
  const forget = connection.requestOnStream(head, run.code, over.resolve);
  run.command?.begun({ connection, stream });
  const failure = await over.promise;
  run.command?.ended();
  forget();
  ladder.stop();
  stream.release();
  if (failure instanceof GuestRefusal) throw refusalOf(failure, run.signal);
  // The request was too large to be sent, so the sandbox is unharmed.
  if (failure instanceof HotcellError && failure.code === 'invalid_argument') throw failure;
  const end = collector.finished();
  if (end !== undefined) return { kind: 'finished', end };
  return { kind: 'lost', error: failure instanceof HotcellError ? failure : silentGuest(), ...ladder.reason() };
}

/** Members of `execute` that describe the language. Python needs none: its kernel always exists. */
function languageMembers({ name, needs, recipe }: Language) {
  return {
    language: name,
    ...(needs.length === 0 ? {} : { needs }),
    ...(recipe === undefined ? {} : { recipe }),
  };
}

function silentGuest(): HotcellError {
  return new HotcellError('sandbox_lost', 'the guest did not end the execution');
}

/** The outcome for the caller: with the limits that were set, and the driver's report on why a kernel was killed. */
export function outcomeOf(
  outcome: GuestOutcome,
  run: KernelRun,
  { limits, memoryKilled }: { limits: Limits; memoryKilled: boolean },
): Outcome {
  switch (outcome.kind) {
    case 'timed-out':
      return { kind: 'timed-out', limitMs: run.clock?.limitMs() ?? run.timeoutMs };
    case 'out-of-memory':
      return { kind: 'out-of-memory', limitBytes: limits.memoryBytes };
    case 'kernel-died':
      if (memoryKilled && outcome.signal === 'SIGKILL')
        return { kind: 'out-of-memory', limitBytes: limits.memoryBytes };
      return { kind: 'kernel-died', ...(outcome.signal === undefined ? {} : { signal: outcome.signal }) };
    case 'unavailable': {
      // SECURITY: only commands that the language needs can be missing. Any other name is an invention of the guest.
      const missing = run.language.needs.filter((name) => outcome.missing.includes(name));
      return missing.length === 0
        ? { kind: 'kernel-died' }
        : { kind: 'unavailable', missing, hint: hintFor(run.language) };
    }
    default:
      return outcome;
  }
}

function startLadder(connection: GuestConnection, run: KernelRun, exhausted: () => void) {
  let reason: InterruptReason | undefined;
  let stopWaiting = () => {};
  const interrupt = (why: InterruptReason) => {
    if (reason !== undefined) return;
    reason = why;
    run.onInterrupt?.();
    connection.request({ type: 'interrupt', execution: run.executionId, reason: why }, nothing).catch(() => {});
    stopWaiting = afterLadder(exhausted);
  };
  const clock = run.clock ?? createExecutionClock(run);
  const stopClock = clock.start(() => interrupt('timed-out'));
  const onAbort = () => interrupt('cancelled');
  run.signal?.addEventListener('abort', onAbort, { once: true });
  if (run.signal?.aborted === true) onAbort();
  return {
    reason: () => (reason === undefined ? {} : { interrupted: reason }),
    stop: () => {
      stopClock();
      stopWaiting();
      run.signal?.removeEventListener('abort', onAbort);
    },
  };
}

/**
 * Calls `exhausted` after `LADDER_MS`; returns the function that cancels the timer. It counts timer ticks rather than
 * time, and lets the event loop read once more: a host that was itself stalled must not declare a guest lost whose
 * answer has arrived.
 */
function afterLadder(exhausted: () => void): () => void {
  let beats = 0;
  const timer = setInterval(() => {
    beats += 1;
    if (beats < LADDER_BEATS) return;
    clearInterval(timer);
    setImmediate(exhausted);
  }, LADDER_MS / LADDER_BEATS);
  return () => clearInterval(timer);
}

function refusalOf(refusal: GuestRefusal, signal: AbortSignal | undefined): HotcellError {
  if (signal?.aborted === true) return new HotcellError('cancelled', 'the execution was cancelled before it started');
  const said = saidInside(refusal.message);
  if (refusal.code === 'busy') return new HotcellError('session_busy', `the guest is busy: ${said}`);
  if (refusal.code === 'too-many') {
    return new HotcellError('too_many_executions', `too many commands run in the session: ${said}`, {
      remedy: 'Wait until one of them ends, or end one.',
    });
  }
  if (refusal.code === 'not-offered') return new HotcellError('not_offered', `the guest does not run this: ${said}`);
  return new HotcellError('kernel_unavailable', `no kernel accepted the code: ${said}`, {
    remedy: 'Open a new session with more memory, or a higher limit of processes.',
  });
}
