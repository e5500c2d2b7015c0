import type { ExecutionResult } from '../execution/result.ts';
import { memoryCost } from '../lib/memory-cost.ts';
import type { Shown } from './outputs.ts';

/** One recorded execution. */
export interface RecordedExecution {
  readonly id: string;
  readonly source: string;
  readonly language: string;
  /** The number of the execution, from 1; dropped executions count. */
  readonly number: number;
  /** The result; undefined once it was dropped to save memory. */
  readonly shown: Shown | undefined;
}

/**
 * The executions of a session, for a notebook. It holds at most `limitBytes`: the oldest outputs are dropped first,
 * then the oldest executions.
 */
export interface ExecutionRecord {
  add(source: string, result: ExecutionResult): RecordedExecution;
  executions(): readonly RecordedExecution[];
  /** The number of executions that were dropped entirely. */
  forgotten(): number;
  heldBytes(): number;
}

/** The overhead of an execution besides its texts, so that a million empty ones are bounded too. */
const ENTRY_BYTES = 1024;
/** The cost of an entry without output, which cannot be dropped. */
const EMPTY_BYTES = memoryCost({ outcome: { kind: 'ok' }, stdout: '', stderr: '', displays: [] } satisfies Shown);

export function createRecord(limitBytes: number): ExecutionRecord {
  const entries: Entry[] = [];
  let count = 0;
  let sourceBytes = 0;
  let outputBytes = 0;
  /** The index of the first execution that may still have outputs. */
  let firstWhole = 0;
  let forgotten = 0;

  /**
   * Drops entries above the limit. Sources get half of the space, so that many small executions do not displace the
   * latest outputs.
   */
  function makeRoom(): void {
    for (let oldest = entries[0]; sourceBytes > limitBytes / 2 && oldest !== undefined; oldest = entries[0]) {
      sourceBytes -= oldest.sourceBytes;
      outputBytes -= oldest.outputBytes;
      entries.shift();
      firstWhole = Math.max(0, firstWhole - 1);
      forgotten += 1;
    }
    for (; sourceBytes + outputBytes > limitBytes && firstWhole < entries.length; firstWhole += 1) {
      const entry = entries[firstWhole]!;
      if (entry.outputBytes === 0) continue;
      outputBytes -= entry.outputBytes;
      entries[firstWhole] = { ...entry, outputBytes: 0, shown: undefined };
    }
  }

  return {
    add(source, result) {
      count += 1;
      const whole = shownOf(result);
      // An execution that would displace all others keeps only its text.
      const shown = memoryCost(whole) > limitBytes / 2 ? withoutDisplays(whole) : whole;
      const entry: Entry = {
        id: result.executionId,
        source,
        language: result.language,
        number: count,
        shown,
        sourceBytes: ENTRY_BYTES + memoryCost(source),
        outputBytes: memoryCost(shown) - EMPTY_BYTES,
      };
      entries.push(entry);
      sourceBytes += entry.sourceBytes;
      outputBytes += entry.outputBytes;
      makeRoom();
      return entry;
    },
    executions: () => entries,
    forgotten: () => forgotten,
    heldBytes: () => sourceBytes + outputBytes,
  };
}

interface Entry extends RecordedExecution {
  readonly sourceBytes: number;
  readonly outputBytes: number;
}

function shownOf(result: ExecutionResult): Shown {
  const { outcome, stdout, stderr, displays, order, value, truncation, network } = result;
  return {
    outcome,
    stdout,
    stderr,
    displays,
    ...(order === undefined ? {} : { order }),
    ...(value === undefined ? {} : { value }),
    ...(truncation === undefined ? {} : { truncation }),
    ...(network === undefined ? {} : { network }),
  };
}

function withoutDisplays({ value, displays, order: _, truncation, ...rest }: Shown): Shown {
  const none = {
    stdoutDroppedBytes: 0,
    stderrDroppedBytes: 0,
    stdoutDroppedLines: 0,
    stderrDroppedLines: 0,
    displaysDropped: 0,
    logDroppedBytes: 0,
  };
  const before = truncation ?? none;
  return {
    ...rest,
    displays: [],
    ...(value === undefined ? {} : { value: { ...value, representations: [] } }),
    truncation: { ...before, displaysDropped: before.displaysDropped + displays.length },
  };
}
