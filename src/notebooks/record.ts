import type { ExecutionResult } from '../execution/result.ts';
import { memoryCost } from '../lib/memory-cost.ts';
import type { Shown } from './outputs.ts';

/** One execution as it is remembered. */
export interface RecordedExecution {
  readonly id: string;
  readonly source: string;
  readonly language: string;
  /** Counts from 1; what was forgotten counts too. */
  readonly number: number;
  /** Undefined once it was let go to make room. */
  readonly shown: Shown | undefined;
}

/** What a session did, for a notebook of it. Holds `limitBytes` at most: the oldest outputs go, and of very many executions the oldest. */
export interface ExecutionRecord {
  add(source: string, result: ExecutionResult): RecordedExecution;
  executions(): readonly RecordedExecution[];
  /** Executions of which nothing is left. */
  forgotten(): number;
  heldBytes(): number;
}

/** What an execution costs besides its texts: a million empty ones are bounded too. */
const ENTRY_BYTES = 1024;
/** What is part of an entry even where nothing was shown: there is nothing to let go then. */
const EMPTY_BYTES = memoryCost({ outcome: { kind: 'ok' }, stdout: '', stderr: '', displays: [] } satisfies Shown);

export function createRecord(limitBytes: number): ExecutionRecord {
  const entries: Entry[] = [];
  let count = 0;
  let sourceBytes = 0;
  let outputBytes = 0;
  /** Index of the first that may still have outputs. */
  let firstWhole = 0;
  let forgotten = 0;

  /** Sources have half of the room: many small executions must not cost the last ones their outputs. */
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
      // One that would push everything else out keeps its text alone.
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

function shownOf({ outcome, stdout, stderr, displays, value, truncation }: ExecutionResult): Shown {
  return {
    outcome,
    stdout,
    stderr,
    displays,
    ...(value === undefined ? {} : { value }),
    ...(truncation === undefined ? {} : { truncation }),
  };
}

function withoutDisplays({ value, displays, truncation, ...rest }: Shown): Shown {
  const none = { stdoutDroppedBytes: 0, stderrDroppedBytes: 0, displaysDropped: 0, logDroppedBytes: 0 };
  const before = truncation ?? none;
  return {
    ...rest,
    displays: [],
    ...(value === undefined ? {} : { value: { ...value, representations: [] } }),
    truncation: { ...before, displaysDropped: before.displaysDropped + displays.length },
  };
}
