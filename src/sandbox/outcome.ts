/** How an execution ended. A value, never an exception: a user's program that fails is not a failure of Hotcell. */
export type Outcome =
  | { readonly kind: 'ok' }
  | Raised
  | { readonly kind: 'exited'; readonly exitCode: number }
  | { readonly kind: 'timed-out'; readonly limitMs: number }
  | { readonly kind: 'out-of-memory'; readonly limitBytes: number }
  /** With a reason where it was not the caller who wanted that. */
  | { readonly kind: 'interrupted'; readonly reason?: InterruptionReason }
  | { readonly kind: 'kernel-died'; readonly signal?: string }
  /** The whole sandbox ended under it, or had ended before without a sign. Nobody can say how far the code came; its files are gone. */
  | { readonly kind: 'sandbox-lost'; readonly reason: string }
  /** The sandbox lacks commands that the language needs. Nothing was run. */
  | { readonly kind: 'unavailable'; readonly missing: readonly string[]; readonly hint: string };

/** An exception that nothing caught. The traceback is text for whoever must repair the code; `frames` is the same stack for a program. */
export interface Raised {
  readonly kind: 'raised';
  readonly name: string;
  readonly message: string;
  readonly traceback: readonly string[];
  /** What helps against it, where that is certain: the nearest names, the missing package. */
  readonly hint?: string | undefined;
  /** The innermost last. At most the last forty. */
  readonly frames?: readonly StackFrame[] | undefined;
}

export interface StackFrame {
  readonly file: string;
  readonly line: number;
  readonly function: string;
  /** Of the program itself, and not of a library. */
  readonly own: boolean;
}

/** Whether the kernel that ran it still lives, with its variables. Files are kept either way, unless the sandbox was lost too. */
export type KernelState = 'kept' | 'lost';

/** `session-expired`: the session had reached its maximum age. `shutting-down`: the server stopped, and the session lives on. */
export type InterruptionReason = 'session-expired' | 'shutting-down';
