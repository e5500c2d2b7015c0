import { HotcellError } from '../errors/hotcell-error.ts';
import { commandReply } from '../guest/messages.ts';
import { rethrowAsOurs } from '../guest/refusals.ts';
import { deferred } from '../lib/deferred.ts';
import { requireSize } from './check-command.ts';
import { type CommandControl, SIGNAL_NAMES } from './command.ts';
import type { CommandLink } from './command-run.ts';

/** The control of a command, with the callbacks of its run. */
export interface ControlledCommand {
  readonly control: CommandControl;
  /** Called when the guest has been asked to start the command. */
  begun(link: CommandLink): void;
  /** Called when the command has ended: waiting calls resolve. Idempotent. */
  ended(): void;
}

export interface ControlOptions {
  readonly hasInput: boolean;
  readonly hasTerminal: boolean;
}

const PIECE_BYTES = 65_536;

/** `execution` returns the command's id. Input and signals that arrive before the command has begun wait for it. */
export function controlCommand(execution: () => string, { hasInput, hasTerminal }: ControlOptions): ControlledCommand {
  const link = deferred<CommandLink | undefined>();
  let isOver = false;
  let sent: Promise<void> = Promise.resolve();

  function send(pieces: readonly Uint8Array[], end: boolean): Promise<void> {
    if (!hasInput) {
      throw invalid('stdin: the command was started without input', 'Start it with stdin, or with a terminal.');
    }
    sent = sent.then(async () => {
      const reached = await link.promise;
      for (const piece of pieces) {
        if (reached === undefined || isOver) return;
        const body = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
        // Sending fails only if the command has ended or its sandbox is lost, and the result says that.
        await reached.stream.send({ type: 'input', execution: execution(), end }, body).catch(() => {});
      }
    });
    return sent;
  }

  async function ask(head: { readonly type: string } & Readonly<Record<string, unknown>>): Promise<void> {
    const reached = await link.promise;
    if (reached === undefined || isOver) return;
    await reached.connection.request({ ...head, execution: execution() }, commandReply).catch((error: unknown) => {
      if (!isOver) rethrowAsOurs(error);
    });
  }

  return {
    begun: link.resolve,
    ended: () => {
      isOver = true;
      link.resolve(undefined);
    },
    control: {
      write: async (data) => send(piecesOf(data), false),
      endInput: async () => send([new Uint8Array()], true),
      kill: async (signal) => {
        if (!SIGNAL_NAMES.includes(signal)) {
          throw invalid(
            `signal: ${JSON.stringify(String(signal).slice(0, 40))} is not allowed`,
            `Use one of ${SIGNAL_NAMES.join(', ')}.`,
          );
        }
        await ask({ type: 'signal', signal });
      },
      resize: async (size) => {
        if (!hasTerminal) throw invalid('terminal: the command has none', 'Start it with a terminal.');
        requireSize(size);
        await ask({ type: 'resize', columns: size.columns, rows: size.rows });
      },
    },
  };
}

function piecesOf(data: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let start = 0; start < data.length; start += PIECE_BYTES) pieces.push(data.subarray(start, start + PIECE_BYTES));
  return pieces;
}

function invalid(message: string, remedy: string): HotcellError {
  return new HotcellError('invalid_argument', message, { remedy });
}
