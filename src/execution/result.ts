import type { Isolation } from '../sandbox/isolation.ts';
import type { KernelState, Outcome } from '../sandbox/outcome.ts';

/** Everything there is to know of one execution. The same under every driver. */
export interface ExecutionResult {
  readonly executionId: string;
  readonly outcome: Outcome;
  readonly stdout: string;
  readonly stderr: string;
  /** The value of the last expression, as text. */
  readonly value?: Value;
  /** Figures and the like, in order. */
  readonly displays: readonly Display[];
  readonly artifacts: readonly Artifact[];
  /** Changed files beyond the first thousand; -1: the workspace is too large to compare. */
  readonly artifactsOmitted: number;
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

export interface Value {
  readonly text: string;
  readonly truncated: boolean;
}

export interface Display {
  readonly mediaType: string;
  readonly data: Buffer;
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
