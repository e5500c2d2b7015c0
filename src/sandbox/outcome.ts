/** How an execution ended. A value, never an exception: a user's program that fails is not a failure of Hotcell. */
export type Outcome =
  | { readonly kind: 'ok' }
  | { readonly kind: 'raised'; readonly name: string; readonly message: string; readonly traceback: readonly string[] }
  | { readonly kind: 'exited'; readonly exitCode: number }
  | { readonly kind: 'timed-out'; readonly limitMs: number }
  | { readonly kind: 'out-of-memory'; readonly limitBytes: number }
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'kernel-died'; readonly signal?: string };

/** Whether the kernel that ran it still lives, with its variables. Files are kept either way, unless `filesLost` says otherwise. */
export type KernelState = 'kept' | 'lost';
