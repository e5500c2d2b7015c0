import type { TerminalSize } from './command-run.ts';
import type { Execution, ExecutionOptions } from './execution.ts';

export type { TerminalSize } from './command-run.ts';

/** A command: a program in a session, beside its kernels and beside other commands. It is an execution that can be given input and signals. */
export interface Command extends Execution, CommandControl {}

export interface CommandOptions extends Pick<ExecutionOptions, 'signal' | 'timeoutMs' | 'via' | 'onBegin'> {
  /** The working directory, relative to /workspace. */
  readonly cwd?: string;
  /** Variables in addition to those of the sandbox. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether the command gets input with `write`. Otherwise it reads end of file at once. */
  readonly stdin?: boolean;
  /** A pseudo-terminal of that size. It implies `stdin`. */
  readonly terminal?: TerminalSize;
}

export interface CommandControl {
  /** Sends input. Resolves when the data is on its way, so a program that does not read applies backpressure. Resolves without effect once the command has ended. */
  write(data: Uint8Array): Promise<void>;
  /** Ends the input: end of file for a pipe, the terminal's EOF character for a terminal. */
  endInput(): Promise<void>;
  /** Sends a signal to the foreground job of the terminal, or to the command's process group. Resolves without effect once the command has ended. */
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
