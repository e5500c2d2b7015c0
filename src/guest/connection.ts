import type { Duplex } from 'node:stream';
import type * as z from 'zod';
import type { HotcellError } from '../errors/hotcell-error.ts';
import type { Frame, Head } from '../lib/frames.ts';
import type { GuestConfig } from '../sandbox/guest-config.ts';
import type { GuestCall } from './calls.ts';
import type { WarmReport, Welcome } from './messages.ts';
import type { Patience } from './patience.ts';
import type { Reply } from './pending-requests.ts';
import type { GuestStream, StreamReceiver } from './stream-table.ts';

/**
 * The host's end of the channel to one guest. Created by `sessions/`, used by `execution/` and the file operations. All
 * input from the guest is bounded here: a frame that breaks the protocol ends the connection with `guest_misbehaved`,
 * and all waiting calls reject with it.
 */
export interface GuestConnection {
  readonly welcome: Welcome;
  /** Resolves when the first kernel is up. Rejects if the connection ends before. */
  readonly ready: Promise<void>;
  /** Resolves when new kernels start with the preloads. Rejects if the connection ends before. */
  readonly warm: Promise<WarmReport>;
  /** Resolves with the reason when the connection ends. Never rejects. */
  readonly ended: Promise<HotcellError>;
  /**
   * Sends a request and waits for the reply, whose result must match `schema`. A guest that makes no progress loses its
   * sandbox, so that no caller waits for ever; `patience` replaces the default timeout for callers that see progress or
   * can wait longer. `onId` gets the id of the request, so that a later request can refer to it.
   */
  request<Result>(head: Head, schema: z.ZodType<Result>, options?: RequestOptions): Promise<Reply<Result>>;
  /**
   * Sends a request that is answered on its stream. The returned function forgets it; call it after the answer. See
   * `PendingRequests`.
   */
  requestOnStream(head: Head, body: Buffer, refused: (error: Error) => void): () => void;
  /** Opens a stream. `onEnd` is called if the connection ends before the stream is released. */
  openStream(receive: StreamReceiver, onEnd?: (error: HotcellError) => void): GuestStream;
  /**
   * Takes over with a new channel after the old one was lost: both sides send unacknowledged frames again. May be
   * retried after a rejection because the new channel was lost too, or because of the signal.
   */
  reconnect(channel: Duplex, options?: { signal?: AbortSignal }): Promise<void>;
  /** Ends the connection at once; waiting calls reject with `error`. */
  close(error?: HotcellError): void;
}

export interface RequestOptions {
  readonly body?: Buffer | undefined;
  readonly onId?: ((id: number) => void) | undefined;
  readonly patience?: Patience | undefined;
}

export interface ConnectOptions {
  /**
   * Absent for a takeover: the guest was configured by a host that is gone, ends the running work of that host, and
   * then sends `ready`.
   */
  readonly config?: GuestConfig | undefined;
  readonly signal?: AbortSignal;
  /** Callback for output of background processes. */
  readonly onBackground?: (frame: Frame) => void;
  /** Whether `reconnect` may follow the loss of a channel. */
  readonly canReconnect?: boolean;
  /** Callback for output that the guest had to drop while the host was disconnected. */
  readonly onGap?: (bytes: number) => void;
  /**
   * Called for each call from the sandbox; returns the receiver of the frames on its stream. Without it calls are
   * answered with `not-offered`. At most `MAX_OPEN_CALLS` are open at once; the rest is refused before this is called.
   */
  readonly onCall?: (call: GuestCall) => StreamReceiver;
  /** Called when a channel was lost that `reconnect` may replace, possibly before `connectGuest` has resolved. */
  readonly onLost?: (reason: string, connection: GuestConnection) => void;
  /** Time of silence after which the guest is pinged. */
  readonly pingAfterMs?: number;
  /** Time of silence after which the channel counts as lost. */
  readonly lostAfterMs?: number;
}
