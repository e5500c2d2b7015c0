import type { CommandControl } from '../../execution/command.ts';
import type { ExecutionEvent } from '../../execution/events.ts';
import type { Outcome } from '../../sandbox/outcome.ts';

/** A command that a person sits at, on a server or here. Iterate over it for its output; then it has an outcome. */
export interface ShellCommand extends AsyncIterable<ExecutionEvent>, CommandControl {
  /** Rejects where the command could not be run, or the connection broke before it had ended. */
  outcome(): Promise<Outcome>;
}

/** How a person left a command: it ended, or they detached from it. */
export type Leaving = 'ended' | 'detached';

/** The line that starts a shell for a person. */
export const LOGIN_SHELL = 'exec "$(command -v bash || echo sh)" -l';
