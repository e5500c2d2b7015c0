import { rm } from 'node:fs/promises';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { AddedLayer } from '../guest/layers/add.ts';
import type { LiveSandbox } from '../guest/live-sandbox.ts';
import { either } from '../lib/abort.ts';
import { deferred } from '../lib/deferred.ts';
import { unlessWithdrawn } from '../lib/unless-withdrawn.ts';
import type { NetworkSetting } from '../network/contract.ts';
import type { Isolation } from '../sandbox/isolation.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import { createCurrentSandbox } from './current-sandbox.ts';
import { type ExecutionSlots, type HeldSlot, holdSlot, type ReleasableSlot } from './held-slot.ts';
import { createLanes, type Lane, type Turn } from './lanes.ts';
import type { NetworkControl, SetNetworkOptions } from './network-control.ts';
import { createSessionLayers } from './session-layers.ts';
import { type SessionState, takesWork, transition } from './session-state.ts';

/**
 * The core of a session: a unique id, a spec and one sandbox at a time. When the sandbox is lost, the next use makes
 * another one and reports the loss. `execute` queues work here; `sessions/session.ts` builds the public `Session` on
 * it; a server's directory retires and leaves it.
 */
export interface SessionCore {
  readonly uniqueId: string;
  readonly spec: SandboxSpec;
  readonly logFolder: string;
  /** The isolation of the first sandbox. Later ones have the same. */
  readonly isolation: Isolation;
  state(): SessionState;
  /** Returns the number of the next execution, from 1. Tracebacks name an execution by it. */
  nextNumber(): number;
  /**
   * Runs `work` when all earlier work of its lane is done. `busy: 'refuse'` rejects with `session_busy` instead of
   * waiting.
   */
  inOrder<T>(work: SandboxWork<T>, options: TurnOptions): Promise<T>;
  /** Runs `work` beside all lanes, for commands. */
  beside<T>(work: SandboxWork<T>, signal?: AbortSignal): Promise<T>;
  /** The work that runs in a lane now. */
  turnIn(lane: string): Turn | undefined;
  /** Runs `work` at once, beside executions, for files and resets. */
  use<T>(work: (live: LiveSandbox) => Promise<T>): Promise<T>;
  /** Runs streaming `work`, which counts as use while it is being read. */
  stream<T>(work: (live: LiveSandbox) => AsyncIterable<T>): AsyncIterable<T>;
  isolationOf(live: LiveSandbox): Isolation;
  readonly network: CoreNetwork;
  /**
   * Adds a tree of packages (`guest/layers/add.ts`), one after the other. A sandbox that replaces a lost one gets all
   * trees again, in order, so each must exist as long as the session is open.
   */
  addLayer(tree: string): Promise<AddedLayer>;
  /** Refuses new work from now on; running work goes on until `close`. */
  retire(): void;
  /**
   * Resolves when nothing of the session is left or, with `removesBehind`, when its sandbox can no longer be reached.
   * Idempotent.
   */
  close(): Promise<void>;
  /** Closes the session here and leaves its sandbox running for a later server. */
  leave(): Promise<void>;
  /** Resolves when the session is over here, however it ended. Never rejects. */
  readonly ended: Promise<void>;
}

/** The network of a session that is open. */
export interface CoreNetwork extends Omit<NetworkControl, 'set'> {
  set(setting: NetworkSetting, options?: Omit<SetNetworkOptions, 'use'>): Promise<void>;
}

/** `restarted` says why the previous sandbox was lost. `slot` may be given back while the work waits for a call. */
export type SandboxWork<T> = (live: LiveSandbox, restarted: string | undefined, slot: HeldSlot) => Promise<T>;

export interface TurnOptions {
  /**
   * The kernel that does the work (`kernelOf`). Work of one kernel runs in order, work of different kernels
   * concurrently.
   */
  readonly lane: string;
  /** Id of the execution, for others that wait for it. A question has none. */
  readonly executionId?: string;
  readonly busy: 'wait' | 'refuse';
  readonly signal?: AbortSignal | undefined;
}

export interface SessionCoreOptions {
  readonly uniqueId: string;
  readonly spec: SandboxSpec;
  readonly logFolder: string;
  readonly passedOver: Isolation['passedOver'];
  /** The first sandbox. */
  readonly first: LiveSandbox;
  /** Makes another sandbox after a loss. `closing` is aborted when the session stops taking work. */
  readonly reopen: (closing: AbortSignal) => Promise<LiveSandbox>;
  readonly network: NetworkControl;
  /** Finds the trees of packages that a session has from an earlier server (`session-layers.ts`). */
  readonly layersBefore?: (() => Promise<readonly string[]>) | undefined;
  /** Called when the session begins to close, with the promise that settles when nothing of it is left. */
  readonly onClosed: (gone: Promise<void>) => void;
  /** Cleanup that is awaited once no sandbox is left here. */
  readonly onEnded?: () => Promise<void>;
  /** Whether `close` leaves the removal of the sandbox to the background. */
  readonly removesBehind?: boolean;
  /** Slots of a server that bounds how much runs at once in all its sessions. */
  readonly slots?: ExecutionSlots | undefined;
  /**
   * Called at the beginning of each use of any kind; the returned function is called at its end. The reaper needs to
   * know whether a session is idle.
   */
  readonly beginUse?: (() => () => void) | undefined;
}

/** Lane through which commands learn of a lost sandbox. Nothing waits in it. */
const BESIDE = 'command';

export function createSessionCore(options: SessionCoreOptions): SessionCore {
  const { beginUse = () => () => {} } = options;
  let state: SessionState = 'opening';
  const lanes = createLanes();
  /** Running work beside the lanes. */
  const besides = new Set<Promise<unknown>>();
  let running = 0;
  let executions = 0;
  let closing: Promise<void> | undefined;
  const unreachable = deferred<void>();
  const ended = deferred<void>();
  const retired = new AbortController();
  const layers = createSessionLayers(options.layersBefore);

  const current = createCurrentSandbox({
    first: options.first,
    reopen: async () => layers.restore(await options.reopen(retired.signal)),
    isOpen: () => takesWork(state),
    requireOpen,
    onLost: lanes.lose,
    withdrawal,
  });
  move('opened');

  function requireOpen(): void {
    if (takesWork(state)) return;
    throw new HotcellError('session_closed', `the session ${options.uniqueId} is closed`, {
      remedy: 'Open a new session.',
    });
  }

  function retire(): void {
    move('closing-began');
    retired.abort();
  }

  /** Waits for a slot. Rejects when the caller withdraws or the session is closed meanwhile. */
  async function slot(signal: AbortSignal | undefined): Promise<(() => void) | undefined> {
    return options.slots?.take(either(retired.signal, signal)).catch(() => {
      requireOpen();
      throw withdrawal();
    });
  }

  function end(part: (sandbox: LiveSandbox) => Promise<void>): Promise<void> {
    if (closing === undefined) {
      closing = finish(part).finally(ended.resolve);
      options.onClosed(closing);
    }
    return closing;
  }

  async function finish(part: (sandbox: LiveSandbox) => Promise<void>): Promise<void> {
    retire();
    const parts = (await current.take()).map(part);
    unreachable.resolve();
    await Promise.all(parts);
    await options.onEnded?.();
    await idle();
    // A log that cannot be removed does not keep the session open; the next start of a server removes it.
    await rm(options.logFolder, { recursive: true, force: true }).catch(() => {});
    move('closed');
  }

  /** Resolves when no work is running. */
  async function idle(): Promise<void> {
    await Promise.all([lanes.idle(), ...besides]);
  }

  /** Runs `work` now, in a slot. `begun` is called when the slot is taken. */
  async function runNow<T>(
    work: SandboxWork<T>,
    lane: Lane,
    signal: AbortSignal | undefined,
    begun: () => void,
  ): Promise<T> {
    requireOpen();
    if (signal?.aborted === true) throw withdrawal();
    running += 1;
    if (running === 1) move('execution-began');
    let held: ReleasableSlot | undefined;
    try {
      held = holdSlot(options.slots, options.slots?.tryTake() ?? (await slot(signal)));
      begun();
      const sandbox = await current.get(signal);
      return await work(sandbox, lanes.takeLoss(lane), held);
    } finally {
      held?.release();
      running -= 1;
      if (running === 0) move('execution-ended');
    }
  }

  function move(event: Parameters<typeof transition>[1]): void {
    state = transition(state, event) ?? state;
  }

  async function use<T>(work: (live: LiveSandbox) => Promise<T>): Promise<T> {
    const endUse = beginUse();
    try {
      return await work(await current.get());
    } finally {
      endUse();
    }
  }

  const isolationOf = (sandbox: LiveSandbox): Isolation => ({
    ...sandbox.sandbox.isolation,
    passedOver: options.passedOver,
  });

  return {
    uniqueId: options.uniqueId,
    spec: options.spec,
    logFolder: options.logFolder,
    isolation: isolationOf(options.first),
    isolationOf,
    network: {
      setting: options.network.setting,
      services: options.network.services,
      watchRefusals: options.network.watchRefusals,
      set: async (setting, how) => {
        requireOpen();
        await options.network.set(setting, { ...how, use });
      },
    },
    state: () => state,
    retire,
    nextNumber: () => {
      executions += 1;
      return executions;
    },

    turnIn: (lane) => lanes.of(lane).turn,

    async inOrder(work, { lane: kernel, executionId, busy, signal }) {
      requireOpen();
      const lane = lanes.of(kernel);
      if (busy === 'refuse' && (lane.turn !== undefined || lane.waiting > 0)) {
        throw new HotcellError('session_busy', `the session ${options.uniqueId} is already running an execution`, {
          remedy: 'Wait for it, cancel it, or open another session.',
        });
      }
      lane.waiting += 1;
      const endUse = beginUse();
      let hasBegun = false;
      const turn = lane.queue.then(async () => {
        lane.waiting -= 1;
        lane.turn = { executionId, since: new Date() };
        try {
          return await runNow(work, lane, signal, () => {
            hasBegun = true;
          });
        } finally {
          lane.turn = undefined;
        }
      });
      lane.queue = turn.then(endUse, endUse);
      return unlessWithdrawn(turn, signal, () => (hasBegun ? undefined : withdrawal()));
    },

    async beside(work, signal) {
      requireOpen();
      const endUse = beginUse();
      let hasBegun = false;
      const turn = runNow(work, lanes.of(BESIDE), signal, () => {
        hasBegun = true;
      });
      const settled = turn.then(endUse, endUse).finally(() => besides.delete(settled));
      besides.add(settled);
      return unlessWithdrawn(turn, signal, () => (hasBegun ? undefined : withdrawal()));
    },

    use,
    addLayer: (tree) => use((live) => layers.add(live, tree)),

    async *stream(work) {
      const endUse = beginUse();
      try {
        yield* work(await current.get());
      } finally {
        endUse();
      }
    },

    close: async () => {
      const gone = end((sandbox) => sandbox.dispose());
      if (options.removesBehind !== true) return gone;
      gone.catch(() => {}); // `onClosed` got the promise
      await unreachable.promise;
      await idle();
    },
    leave: () => end((sandbox) => sandbox.leave()),
    ended: ended.promise,
  };
}

function withdrawal(): HotcellError {
  return new HotcellError('cancelled', 'the execution was cancelled before it started');
}
