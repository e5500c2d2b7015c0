import type { GuestConnection } from '../guest/connection.ts';
import type { LiveSandbox } from '../guest/live-sandbox.ts';
import { cpuReply } from '../guest/messages.ts';
import { kernelOf } from '../languages/table.ts';
import type { RefusedConnections } from '../network/refused-connections.ts';
import { checkRun } from './check-run.ts';
import { createExecutionClock, type ExecutionClock } from './clock.ts';
import { type Collector, createCollector, type OutputLimits } from './collect.ts';
import { EventReaders } from './event-readers.ts';
import type { Execution, ExecutionPolicy, PartialOutput, Run } from './execution.ts';
import type { HeldSlot } from './held-slot.ts';
import type { ExecutionResult } from './result.ts';
import { finishedParts, lostParts } from './result-parts.ts';
import { type KernelRun, runInGuest } from './run.ts';
import type { SessionCore } from './session-core.ts';

/**
 * Runs code in a session. Invalid arguments and failures of Hotcell reject the result; the ending of the code is an
 * outcome.
 */
export function execute(session: SessionCore, run: Run, policy: ExecutionPolicy): Execution {
  const { id, options } = run;
  const readers = new EventReaders();
  let collector: Collector | undefined;
  let lane = laneOf(run, policy);
  const began = (made: Collector) => {
    collector = made;
    lane = undefined;
    options.onBegin?.();
  };
  const result = (async () => {
    await undefined; // lets a caller begin to iterate before the first event
    const checked = checkRun(run, `<execution ${session.nextNumber()}>`, policy);
    const work = (live: LiveSandbox, restarted: string | undefined, slot: HeldSlot) => {
      const clock = createExecutionClock({
        timeoutMs: checked.timeoutMs,
        maxPausedMs: policy.maxPausedMs,
        slot,
        cpuMs: () => cpuMsOf(live.connection, id),
      });
      return runIn(live, { ...checked, clock }, { session, output: policy.output, restarted, readers, began });
    };
    const { signal } = options;
    if (run.command !== undefined) return session.beside(work, signal);
    const lane = kernelOf(checked.language);
    return session.inOrder(work, { lane, executionId: id, busy: options.busy ?? 'wait', signal });
  })();
  result.catch(() => {}).finally(() => run.command?.ended());
  let printed: PartialOutput = { stdout: '', stderr: '' };
  result.then(
    ({ stdout, stderr, truncation }) => {
      printed = { stdout, stderr, ...(truncation === undefined ? {} : { truncation }) };
      collector = undefined;
      readers.end();
    },
    (error: unknown) => {
      printed = printedTo(collector);
      collector = lane = undefined;
      readers.end(error);
    },
  );
  return {
    id,
    partial: () => (collector === undefined ? printed : printedTo(collector)),
    tail: (chars) => collector?.tail(chars) ?? lastOf(printed, chars),
    outputBytes: () => collector?.outputBytes() ?? printed.stdout.length + printed.stderr.length,
    waitsFor: () => {
      const turn = lane === undefined ? undefined : session.turnIn(lane);
      // The execution may have its own turn and still wait for a slot of the server.
      return turn?.executionId === id ? undefined : turn;
    },
    // biome-ignore lint/suspicious/noThenProperty: an execution can be awaited and iterated over
    then: (onResult, onError) => result.then(onResult, onError),
    [Symbol.asyncIterator]: () => readers.open(),
  };
}

/**
 * The lane that an execution waits in. Undefined for a command, which waits for none, and for an unknown language,
 * which `checkRun` refuses.
 */
function laneOf({ options, command }: Run, { languages }: ExecutionPolicy): string | undefined {
  if (command !== undefined) return undefined;
  const name = (options.language ?? 'python').toLowerCase();
  const found = languages.find((language) => language.name === name || language.aliases.includes(name));
  return found === undefined ? undefined : kernelOf(found);
}

function printedTo(collector: Collector | undefined): PartialOutput {
  const { stdout = '', stderr = '', truncation } = collector?.parts() ?? {};
  return { stdout, stderr, ...(truncation === undefined ? {} : { truncation }) };
}

function lastOf({ stdout, stderr }: PartialOutput, chars: number): PartialOutput {
  return { stdout: stdout.slice(-chars), stderr: stderr.slice(-chars) };
}

interface Surroundings {
  readonly session: SessionCore;
  readonly output: OutputLimits;
  /** Why the previous sandbox was lost, if it was. */
  readonly restarted: string | undefined;
  readonly readers: EventReaders;
  readonly began: (collector: Collector) => void;
}

async function runIn(
  live: LiveSandbox,
  run: KernelRun & { readonly clock: ExecutionClock },
  around: Surroundings,
): Promise<ExecutionResult> {
  const { session, output, readers, began } = around;
  const { limits } = session.spec;
  const startedAt = performance.now();
  const collector = createCollector(
    `${session.logFolder}/${run.executionId}.log`,
    output,
    (event) => readers.push(event),
    () => readers.isListening(),
  );
  began(collector);
  const refusals = session.network.watchRefusals();
  let isKept = false;
  const over = live.during(run.executionId, {
    onGap: (bytes) => collector.addGap(bytes),
    pause: () => run.clock.pause(),
  });
  try {
    const end = await runInGuest(live.connection, { ...run, onInterrupt: () => readers.stopWaiting() }, collector);
    if (end.kind === 'lost') {
      live.connection.close(end.error);
      // The result does not wait for the cleanup; closing the session does.
      live.sandbox.dispose().catch(() => {});
    }
    const elapsedMs = performance.now() - startedAt;
    const memoryKilled =
      end.kind === 'finished' && end.end.outcome.kind === 'kernel-died' && (await live.sawMemoryKill());
    await collector.close();
    const result = {
      executionId: run.executionId,
      language: run.language.name,
      ...collector.parts(),
      ...(end.kind === 'finished'
        ? finishedParts(end.end, run, { limits, memoryKilled, elapsedMs })
        : await lostParts(end, run, { live, limits, durationMs: elapsedMs })),
      ...networkPart(refusals.end()),
      ...restartedPart(around.restarted ?? (end.kind === 'finished' ? end.end.restarted : undefined)),
      isolation: session.isolationOf(live),
    };
    isKept = true;
    return result;
  } finally {
    over();
    refusals.end();
    if (!isKept) await collector.discard();
  }
}

/** The CPU time that an execution has used so far, as the guest tells. Only its clock relies on it, and has another limit. */
async function cpuMsOf(connection: GuestConnection, execution: string): Promise<number> {
  const { result } = await connection.request({ type: 'cpu', execution }, cpuReply);
  return result.cpuMs;
}

function networkPart(network: RefusedConnections | undefined): { network?: RefusedConnections } {
  return network === undefined ? {} : { network };
}

function restartedPart(reason: string | undefined): { restarted?: string } {
  return reason === undefined ? {} : { restarted: reason };
}
