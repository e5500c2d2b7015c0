import type { RefusedConnections } from '../network/refused-connections.ts';
import type { Isolation } from '../sandbox/isolation.ts';
import type { KernelState, Outcome } from '../sandbox/outcome.ts';

/** The result of one execution. It has the same form under every driver. */
export interface ExecutionResult {
  readonly executionId: string;
  readonly language: string;
  readonly outcome: Outcome;
  readonly stdout: string;
  readonly stderr: string;
  /** Value of the last expression. */
  readonly value?: Value;
  /** Displays in order: figures, tables and other arguments of `display()`. An updated display has its last state. */
  readonly displays: readonly Display[];
  /**
   * The printed texts and the displays in the order in which they came, each stream bounded as in `stdout` and
   * `stderr`. Absent if only one stream printed and nothing was displayed beside it. `inOrder` reads both forms.
   */
  readonly order?: readonly OutputPart[];
  readonly artifacts: readonly Artifact[];
  /**
   * Number of changed files beyond the first thousand; -1 if the workspace is too large to compare or the program has
   * made it unreadable.
   */
  readonly artifactsOmitted: number;
  /** Variables that the code changed. Absent if there are none, or if the kernel was lost. */
  readonly variables?: VariableChanges;
  readonly durationMs: number;
  readonly cpuMs: number;
  /** Peak memory of the kernel's own process. */
  readonly peakMemoryBytes: number;
  /** Present if the result does not hold all output. */
  readonly truncation?: Truncation;
  /** Whether the variables are kept for the next execution. */
  readonly state: KernelState;
  /** Whether the files are kept. They are lost only with the whole sandbox. */
  readonly files: KernelState;
  /** Why this execution began without the session's variables: the sandbox or kernel of the previous one was lost. */
  readonly restarted?: string;
  /** Connections that the network policy refused while the code ran. Absent if there are none. */
  readonly network?: RefusedConnections;
  readonly isolation: Isolation;
}

/** Head and tail of the output of an execution. */
export interface PartialOutput {
  readonly stdout: string;
  readonly stderr: string;
  /** Present if there was more. */
  readonly truncation?: Truncation;
}

/** Text that the code printed without a break, or the display with this index in `displays`. */
export type OutputPart =
  | { readonly kind: 'stdout' | 'stderr'; readonly text: string }
  | { readonly kind: 'display'; readonly index: number };

/** The printed texts and displays of a result in the order in which they came. */
export function inOrder({
  order,
  stdout,
  stderr,
  displays,
}: Pick<ExecutionResult, 'order' | 'stdout' | 'stderr' | 'displays'>): readonly OutputPart[] {
  if (order !== undefined) return order;
  const texts: OutputPart[] = [
    { kind: 'stdout', text: stdout },
    { kind: 'stderr', text: stderr },
  ];
  return [
    ...texts.filter((part) => part.kind !== 'display' && part.text !== ''),
    ...displays.map((_, index): OutputPart => ({ kind: 'display', index })),
  ];
}

/** One media type of an object. Text types are UTF-8. */
export interface Representation {
  readonly mediaType: string;
  readonly data: Buffer;
}

/** Value of the last expression: always text, and rich output if the object has some. */
export interface Value {
  readonly text: string;
  readonly truncated: boolean;
  /** Media types besides the text, richest last: `text/html` of a frame, `image/png` of a picture. */
  readonly representations: readonly Representation[];
}

/** One displayed object, in one or more media types, richest last as the kernel sent them. */
export interface Display {
  /** Id by which the code can update the display. */
  readonly id?: string;
  readonly representations: readonly Representation[];
}

/**
 * Names that are bound to another object than before. Not listed: objects changed in place, modules, and names with a
 * leading underscore.
 */
export interface VariableChanges {
  readonly added: readonly string[];
  /** Rebound names. A list, dict or tuple that the code assigns counts as another object. */
  readonly rebound: readonly string[];
  readonly deleted: readonly string[];
  /**
   * Number of names beyond the first hundred of each; -1 if the namespace is so large that only names assigned in the
   * code were compared.
   */
  readonly omitted: number;
}

export interface Artifact {
  /** Path relative to the workspace. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly mediaType: string;
  readonly change: 'created' | 'modified';
}

export interface Truncation {
  readonly stdoutDroppedBytes: number;
  readonly stderrDroppedBytes: number;
  /** Line ends in the dropped bytes. */
  readonly stdoutDroppedLines: number;
  readonly stderrDroppedLines: number;
  readonly displaysDropped: number;
  /** Path of the log of both streams on the host. It exists until the session is closed. */
  readonly logPath?: string;
  /** Bytes that did not fit into the log, or were printed while the host was disconnected. */
  readonly logDroppedBytes: number;
}
