import type { Isolation } from '../sandbox/isolation.ts';
import type { KernelState, Outcome } from '../sandbox/outcome.ts';

/** Everything there is to know of one execution. The same under every driver. */
export interface ExecutionResult {
  readonly executionId: string;
  readonly language: string;
  readonly outcome: Outcome;
  readonly stdout: string;
  readonly stderr: string;
  /** The value of the last expression. */
  readonly value?: Value;
  /** What was shown, in order: figures, tables, whatever `display()` was given. One that was updated holds its last state. */
  readonly displays: readonly Display[];
  readonly artifacts: readonly Artifact[];
  /** Changed files beyond the first thousand; -1: the workspace is too large to compare, or the program has closed it. */
  readonly artifactsOmitted: number;
  /** Which variables it changed. Absent where it changed none, or where the kernel that knew was lost. */
  readonly variables?: VariableChanges;
  readonly durationMs: number;
  readonly cpuMs: number;
  /** Of the kernel's own process. */
  readonly peakMemoryBytes: number;
  /** Present where the reply does not hold all that was printed. */
  readonly truncation?: Truncation;
  /** Whether variables live on for the next execution. */
  readonly state: KernelState;
  /** Whether files do. They go only with the whole sandbox. */
  readonly files: KernelState;
  /** Why this execution began without the session's variables: its sandbox or its kernel was lost since the last one. */
  readonly restarted?: string;
  readonly isolation: Isolation;
}

/** One way to show a thing. Text types are UTF-8. */
export interface Representation {
  readonly mediaType: string;
  readonly data: Buffer;
}

/** The value of the last expression: always text, and richer where the object has more to show. */
export interface Value {
  readonly text: string;
  readonly truncated: boolean;
  /** Beyond the text, the richest last: `text/html` of a frame, `image/png` of a picture. */
  readonly representations: readonly Representation[];
}

/** One thing shown, in one or more media types, the richest last as the kernel gave them. */
export interface Display {
  /** By which the code can update it. */
  readonly id?: string;
  readonly representations: readonly Representation[];
}

/**
 * Names that are now bound to another object than before. An object that was changed in place is still the same one and not named; nor are
 * modules, and names with a leading underscore.
 */
export interface VariableChanges {
  readonly added: readonly string[];
  /** A list, dict or tuple that the code assigns counts as another one. */
  readonly rebound: readonly string[];
  readonly deleted: readonly string[];
  /** Names beyond the first hundred of each; -1: the namespace is so large that only names which the code itself assigns were compared. */
  readonly omitted: number;
}

export interface Artifact {
  /** Below the workspace. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly mediaType: string;
  readonly change: 'created' | 'modified';
}

export interface Truncation {
  readonly stdoutDroppedBytes: number;
  readonly stderrDroppedBytes: number;
  readonly displaysDropped: number;
  /** The log of both streams, on the host, until the session is closed. */
  readonly logPath?: string;
  /** What did not fit into the log either, or was printed while nobody was connected. */
  readonly logDroppedBytes: number;
}
