import type { Duplex } from 'node:stream';
import type * as z from 'zod';
import type { HotcellError } from '../errors/hotcell-error.ts';
import type { Frame, Head } from '../lib/frames.ts';
import type { GuestConfig } from '../sandbox/guest-config.ts';
import type { WarmReport, Welcome } from './messages.ts';
import type { Patience } from './patience.ts';
import type { Reply } from './pending-requests.ts';
import type { GuestStream, StreamReceiver } from './stream-table.ts';

/**
 * The host's end of the channel to one guest. Made by `sessions/`, used by `execution/` and the file operations. Whatever the guest sends is
 * bounded here: a frame that breaks the protocol ends the connection with a `guest_misbehaved`, and whoever waits is told so.
 */
export interface GuestConnection {
  readonly welcome: Welcome;
  /** The first kernel is up. Rejects when the connection ends before. */
  readonly ready: Promise<void>;
  /** Kernels that start from now on have the preloads. Rejects when the connection ends before. */
  readonly warm: Promise<WarmReport>;
  /** Why the connection ended. Never rejects. */
  readonly ended: Promise<HotcellError>;
  /**
   * Waits for the reply, whose result must fit `schema`. A guest that does nothing for it any more loses its sandbox, so nobody waits for ever: `patience` is
   * for whoever sees its progress, or can wait longer than others. `onId` gets the number of the request, by which another may name it.
   */
  request<Result>(head: Head, schema: z.ZodType<Result>, options?: RequestOptions): Promise<Reply<Result>>;
  /** The same for a request that is answered on its stream. Returns what forgets it, to be called when it has been; see PendingRequests. */
  order(head: Head, body: Buffer, refused: (error: Error) => void): () => void;
  /** `onEnd` is told when the connection ends before the stream is released. */
  openStream(receive: StreamReceiver, onEnd?: (error: HotcellError) => void): GuestStream;
  /**
   * Takes over with a new channel after the old one was lost: what either side lacks is sent again. When it rejects because the new
   * channel was lost too, or the signal was given, it may be tried again.
   */
  reconnect(channel: Duplex, options?: { signal?: AbortSignal }): Promise<void>;
  /** Ends the connection at once; what is waiting rejects with `error`. */
  close(error?: HotcellError): void;
}

export interface RequestOptions {
  readonly body?: Buffer | undefined;
  readonly onId?: ((id: number) => void) | undefined;
  readonly patience?: Patience | undefined;
}

export interface ConnectOptions {
  /** Absent where a host that is gone configured the guest: it ends what it had under way for that one, and says `ready` when it has. */
  readonly config?: GuestConfig | undefined;
  readonly signal?: AbortSignal;
  /** Output of background processes. */
  readonly onBackground?: (frame: Frame) => void;
  /** A channel that ends is not the end: `reconnect` may follow. */
  readonly canReconnect?: boolean;
  /** Bytes of output that the guest had to drop while nobody was connected. */
  readonly onGap?: (bytes: number) => void;
  /** Called when a channel was lost that `reconnect` may replace; perhaps before whoever connects has the connection. */
  readonly onLost?: (reason: string, connection: GuestConnection) => void;
  /** A channel that is silent for so long is asked whether it lives. */
  readonly pingAfterMs?: number;
  /** One that is silent for so long, asked or not, is lost. */
  readonly lostAfterMs?: number;
}
