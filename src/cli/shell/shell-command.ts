import type { CommandControl } from '../../execution/command.ts';
import type { ExecutionEvent } from '../../execution/events.ts';
import type { Outcome } from '../../sandbox/outcome.ts';

/** A command at the user's terminal, on a server or local. Iterate over it for its output; then it has an outcome. */
export interface ShellCommand extends AsyncIterable<ExecutionEvent>, CommandControl {
  /** Rejects if the command could not be run, or the connection broke before its end. */
  outcome(): Promise<Outcome>;
}

/** How the user left a command: it ended, or they detached from it. */
export type Leaving = 'ended' | 'detached';

/** The command line of an interactive shell. */
export const LOGIN_SHELL = 'exec "$(command -v bash || echo sh)" -l';
