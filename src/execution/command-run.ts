import type { GuestConnection } from '../guest/connection.ts';
import type { GuestStream } from '../guest/stream-table.ts';

/** A command as its run needs it. */
export interface CommandRun {
  /** The caller's arguments, which are held until the command has ended. */
  readonly held: unknown;
  /** Throws where an argument is invalid. */
  readonly request: () => CommandRequest;
  /** The guest has been asked for it. */
  readonly begun: (link: CommandLink) => void;
  readonly ended: () => void;
}

/** What is to be run, as the guest is asked for it. */
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

/** What a command that the guest has is reached through. */
export interface CommandLink {
  readonly connection: Pick<GuestConnection, 'request'>;
  readonly stream: Pick<GuestStream, 'send'>;
}
