import { rm, stat } from 'node:fs/promises';
import type { HotcellError } from '../errors/hotcell-error.ts';
import { memoryCost } from '../lib/memory-cost.ts';
import type { KeptShare, KeptSize } from './kept-total.ts';
import type { EndableExecution } from './managed-execution.ts';

export interface KeptLimits {
  readonly count: number;
  readonly bytes: number;
  readonly logBytes: number;
}

/**
 * The executions of one session that can be found by id: all that run or wait, and the last that ended, within limits.
 */
export interface KeptExecutions {
  /** `heldBytes`: memory that the execution holds besides its result, which is its code. */
  add(execution: EndableExecution, heldBytes: number): void;
  get(id: string): EndableExecution | undefined;
  /** All executions, oldest first. */
  all(): readonly EndableExecution[];
  unfinished(): readonly EndableExecution[];
  /** Forgets all executions, because the session is closed. */
  forget(): void;
}

interface Kept extends KeptSize {
  readonly execution: EndableExecution;
  readonly logPath: string | undefined;
  /** Releases the execution's share of the server's total. */
  readonly leave: () => void;
}

/** Memory of an execution besides its code and its result: promises, callbacks, map entries. */
const EXECUTION_BYTES = 4096;

/** `share`: the total that the owner's sessions keep together. */
export function createKeptExecutions(limits: KeptLimits, share: KeptShare): KeptExecutions {
  const running = new Map<string, EndableExecution>();
  /** Ended executions, in the order in which they ended. */
  const ended = new Map<string, Kept>();
  let isForgotten = false;

  function drop(id: string): void {
    const kept = ended.get(id);
    ended.delete(id);
    kept?.leave();
    // The execution can no longer be found. The rest of the log folder is removed with the session.
    if (kept?.logPath !== undefined) rm(kept.logPath, { force: true }).catch(() => {});
  }

  async function keep(execution: EndableExecution, heldBytes: number): Promise<void> {
    const settled = await execution.result.then(
      (result) => ({ result, bytes: memoryCost(result) }),
      (error: HotcellError) => ({ result: undefined, bytes: memoryCost([error.message, error.stack]) }),
    );
    const logPath = settled.result?.truncation?.logPath;
    const logBytes = logPath === undefined ? 0 : await sizeOfFile(logPath);
    running.delete(execution.id);
    if (isForgotten) return;
    const size = { bytes: EXECUTION_BYTES + heldBytes + settled.bytes, logBytes };
    const leave = share.add(size, () => drop(execution.id));
    ended.set(execution.id, { execution, ...size, logPath, leave });
    for (const [id] of dropped([...ended], limits)) drop(id);
  }

  return {
    add: (execution, heldBytes) => {
      running.set(execution.id, execution);
      void keep(execution, heldBytes);
    },
    get: (id) => running.get(id) ?? ended.get(id)?.execution,
    all: () =>
      [...[...ended.values()].map(({ execution }) => execution), ...running.values()].sort(
        (a, b) => a.startedAt.getTime() - b.startedAt.getTime(),
      ),
    unfinished: () => [...running.values()],
    forget: () => {
      isForgotten = true;
      for (const { leave } of ended.values()) leave();
    },
  };
}

/** The entries to drop, oldest first. The newest one stays, however large: its caller waits for it. */
export function dropped<T extends { readonly bytes: number; readonly logBytes: number }>(
  kept: readonly (readonly [string, T])[],
  limits: KeptLimits,
): readonly (readonly [string, T])[] {
  let bytes = 0;
  let logBytes = 0;
  const newestFirst = kept.toReversed();
  const first = newestFirst.findIndex(([, one], index) => {
    bytes += one.bytes;
    logBytes += one.logBytes;
    return index > 0 && (index >= limits.count || bytes > limits.bytes || logBytes > limits.logBytes);
  });
  return first === -1 ? [] : kept.slice(0, kept.length - first);
}

async function sizeOfFile(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
