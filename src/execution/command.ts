import type { TerminalSize } from './command-run.ts';
import type { Execution, ExecutionOptions } from './execution.ts';

export type { TerminalSize } from './command-run.ts';

/**
 * A command: a program in a session, beside its kernels and beside other commands. It is an execution that can be given
 * input and signals.
 */
export interface Command extends Execution, CommandControl {}

export interface CommandOptions extends Pick<ExecutionOptions, 'signal' | 'timeoutMs' | 'via' | 'onBegin'> {
  /** The working directory, relative to /workspace. */
  readonly cwd?: string;
  /** Environment variables in addition to those of the sandbox. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether the command gets input with `write`. Without it, the command reads end of file at once. */
  readonly stdin?: boolean;
  /** Size of a pseudo-terminal for the command. Implies `stdin`. */
  readonly terminal?: TerminalSize;
}

export interface CommandControl {
  /**
   * Sends input. Resolves when the data has been sent, so a program that does not read applies backpressure. Has no
   * effect once the command has ended.
   */
  write(data: Uint8Array): Promise<void>;
  /** Ends the input: end of file for a pipe, the terminal's EOF character for a terminal. */
  endInput(): Promise<void>;
  /**
   * Sends a signal to the foreground job of the terminal, or to the command's process group. Has no effect once the
   * command has ended.
   */
  kill(signal: SignalName): Promise<void>;
  /** Changes the size of the terminal. Rejects with `invalid_argument` for a command without one. */
  resize(size: TerminalSize): Promise<void>;
}

/** The signals that a command can be sent. */
export const SIGNAL_NAMES = [
  'SIGINT',
  'SIGTERM',
  'SIGKILL',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGSTOP',
  'SIGCONT',
  'SIGTSTP',
  'SIGWINCH',
] as const;

export type SignalName = (typeof SIGNAL_NAMES)[number];
