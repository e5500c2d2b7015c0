import type { GuestConnection } from '../guest/connection.ts';
import type { GuestStream } from '../guest/stream-table.ts';

/** A command, as its run needs it. */
export interface CommandRun {
  /** The caller's arguments, held in memory until the command has ended. */
  readonly held: unknown;
  /** Checks the arguments and returns the request. Throws `invalid_argument`. */
  readonly request: () => CommandRequest;
  /** Called when the guest has been asked to start the command. */
  readonly begun: (link: CommandLink) => void;
  readonly ended: () => void;
}

/** The request for a command, as the guest gets it. */
export interface CommandRequest {
  readonly program: { readonly line: string } | { readonly argv: readonly string[] };
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin: boolean;
  readonly terminal?: TerminalSize;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** The connection to a running command: its stream for input, and the guest's connection for signals and sizes. */
export interface CommandLink {
  readonly connection: Pick<GuestConnection, 'request'>;
  readonly stream: Pick<GuestStream, 'send'>;
}
