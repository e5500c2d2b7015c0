import { HotcellError } from '../errors/hotcell-error.ts';
import type { CallFailure, GuestCall } from '../guest/calls.ts';
import type { RunningExecution } from '../guest/live-sandbox.ts';
import { callPiece } from '../guest/messages.ts';
import type { StreamReceiver } from '../guest/stream-table.ts';
import type { Release } from '../lib/fair-queue.ts';
import { ProtocolViolation } from '../lib/frames.ts';
import { createCallArgument } from './call-argument.ts';
import { createCallInput } from './call-input.ts';
import { createCallOutput } from './call-output.ts';
import { CallError, type Caller, type Method } from './method.ts';

/** The facts about a call that has ended, for the audit log and the counters. */
export interface CallRecord {
  readonly method: string;
  readonly execution: string | null;
  /** `ok`, or the code of the failure. */
  readonly outcome: string;
  readonly durationMs: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly facts: Readonly<Record<string, string | number | boolean>>;
}

export interface CallSurroundings {
  readonly method: Method;
  readonly caller: Caller;
  readonly running: RunningExecution | undefined;
  /** Waits for a place among the calls that the server serves at once. Not called for a method that takes none. */
  place(signal: AbortSignal): Promise<Release>;
  /** Reserves memory for so many bytes of the argument, unread input or unsent output; false if there is none left. Undone by `ended`. */
  hold(bytes: number): boolean;
  /** Undoes a part of that earlier. Does nothing after `ended`. */
  letGo(bytes: number): void;
  /** Called once, when the call has its reply or needs none. */
  ended(record: CallRecord): void;
}

/**
 * Serves one call from its first frame to its reply. It ends with the first of: the method, a cancellation, the end of
 * its execution, the loss of the channel, the method's time limit.
 */
export function serveCall(call: GuestCall, around: CallSurroundings): StreamReceiver {
  const { method, caller, running } = around;
  const { inputBytes, durationMs } = method.limits;
  const startedAt = performance.now();
  const stop = new AbortController();
  const { signal } = stop;
  const argument = createCallArgument(method, around.hold);
  const input = createCallInput(around.letGo);
  const output = createCallOutput(call, method.limits, around);
  let facts: CallRecord['facts'] = {};
  let receivedBytes = 0;
  let streamedBytes = 0;
  let isArgumentWhole = false;
  let isInputOver = false;
  let isOver = false;

  const onLost = () => end(lostBecause(call.signal.reason));
  const onExecutionOver = () => end({ code: 'execution-ended', message: 'the execution of the call is over' });
  const timer = Number.isFinite(durationMs)
    ? setTimeout(
        () => end({ code: 'timed-out', message: `${method.name} took more than ${durationMs} ms` }),
        durationMs,
      )
    : undefined;
  call.signal.addEventListener('abort', onLost, { once: true });
  running?.over.addEventListener('abort', onExecutionOver, { once: true });

  function end(failure: CallFailure | undefined): void {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    call.signal.removeEventListener('abort', onLost);
    running?.over.removeEventListener('abort', onExecutionOver);
    const reason = new CallError(failure?.code ?? 'failed', failure?.message ?? 'the call has ended');
    if (failure !== undefined) stop.abort(reason);
    input.fail(reason);
    call.reply(failure);
    around.ended({
      ...{ method: method.name, execution: caller.execution, outcome: failure?.code ?? 'ok', facts, receivedBytes },
      ...{ durationMs: performance.now() - startedAt, sentBytes: output.sentBytes() },
    });
  }

  /** The work of the method, in a place if it takes one. The place is free when the method has really ended, whatever the call did. */
  async function work(value: unknown): Promise<unknown> {
    const release = method.takesPlace ? await around.place(signal) : undefined;
    try {
      signal.throwIfAborted();
      const { sentBytes: _, hasResult: __, ...writing } = output;
      return await method.serve(value, { caller, signal, input, ...writing });
    } finally {
      release?.();
    }
  }

  async function begin(): Promise<void> {
    const value = argument.value();
    facts = method.audit(value);
    const resume = method.pausesClock ? running?.hooks.pause() : undefined;
    const whenStopped = new Promise<void>((resolve) =>
      signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    let made: unknown;
    try {
      // A method that ignores its signal keeps its place, but not the clock of the execution.
      made = await Promise.race([work(value), whenStopped]);
    } finally {
      await resume?.();
    }
    if (isOver) return;
    if (!output.hasResult()) await output.result(made ?? null);
    end(undefined);
  }

  return (frame) => {
    if (isOver) return undefined;
    const { type, end: isEnd } = callPiece.parse(frame.head);
    const isArgument = type === 'argument';
    if (isArgument === isArgumentWhole || isInputOver) throw new ProtocolViolation(`${type}: out of turn in a call`);
    receivedBytes += frame.body.length;
    try {
      if (isArgument) {
        argument.push(frame.body);
        isArgumentWhole = isEnd;
        if (isEnd) begin().catch((error: unknown) => end(failureOf(error)));
        return undefined;
      }
      isInputOver = isEnd;
      countInput(frame.body.length);
      const taken = input.push(frame.body);
      if (isEnd) input.end();
      return taken;
    } catch (error) {
      return end(failureOf(error));
    }
  };

  function countInput(bytes: number): void {
    streamedBytes += bytes;
    if (!around.hold(bytes)) throw new CallError('too-many', 'the unread input of your calls takes too much memory');
    if (streamedBytes > inputBytes)
      throw new CallError('too-large', `${method.name} takes at most ${inputBytes} bytes of input`);
  }
}

/** Why a call ended without its method: cancelled, the channel was lost, or the session was closed. */
function lostBecause(reason: unknown): CallFailure {
  const { code, message } = failureOf(reason);
  return { code: code === 'sandbox-lost' ? 'channel-lost' : code, message };
}

/** SECURITY: an unexpected error may name paths or secrets of the host, so its text stays here. */
function failureOf(error: unknown): CallFailure {
  if (error instanceof CallError) return { code: error.code, message: error.message };
  if (error instanceof HotcellError) return { code: error.code.replaceAll('_', '-'), message: error.message };
  return { code: 'failed', message: 'the call failed on the host' };
}
