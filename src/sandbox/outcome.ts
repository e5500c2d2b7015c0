/** How an execution ended. A value, never an exception: a user's program that fails is not a failure of Hotcell. */
export type Outcome =
  | { readonly kind: 'ok' }
  | Raised
  /** `name`: the class of the exception, if it is a subclass of Python's SystemExit. */
  | { readonly kind: 'exited'; readonly exitCode: number; readonly name?: string | undefined }
  | { readonly kind: 'timed-out'; readonly limitMs: number }
  | { readonly kind: 'out-of-memory'; readonly limitBytes: number }
  /** The code was interrupted. A reason is given if the caller did not request it. */
  | { readonly kind: 'interrupted'; readonly reason?: InterruptionReason }
  | { readonly kind: 'kernel-died'; readonly signal?: string }
  /** The whole sandbox ended during the execution, or had ended unnoticed before. It is unknown how far the code ran; its files are lost. */
  | { readonly kind: 'sandbox-lost'; readonly reason: string }
  /** The sandbox lacks commands that the language needs. Nothing was run. */
  | { readonly kind: 'unavailable'; readonly missing: readonly string[]; readonly hint: string };

/** An uncaught exception. The traceback is text for the author of the code, often a model; `frames` is the same stack for a program. */
export interface Raised {
  readonly kind: 'raised';
  readonly name: string;
  readonly message: string;
  readonly traceback: readonly string[];
  /** Hint, if one is certain: the nearest names, the missing package. */
  readonly hint?: string | undefined;
  /** Stack frames, innermost last, at most the last forty. */
  readonly frames?: readonly StackFrame[] | undefined;
}

export interface StackFrame {
  readonly file: string;
  readonly line: number;
  readonly function: string;
  /** Whether the frame belongs to the program, not to a library. */
  readonly own: boolean;
}

/**
 * Whether the kernel of the execution still lives, with its variables. Files are kept either way, unless the sandbox
 * was lost too.
 */
export type KernelState = 'kept' | 'lost';

/** `session-expired`: the session had reached its maximum age. `shutting-down`: the server stopped, and the session lives on. */
export type InterruptionReason = 'session-expired' | 'shutting-down';
