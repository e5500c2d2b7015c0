import type { Duplex } from 'node:stream';
import type * as z from 'zod';
import { HotcellError } from '../errors/hotcell-error.ts';
import { type Deferred, deferred } from '../lib/deferred.ts';
import { encodeFrame, type Frame, type Head, ProtocolViolation, setAck } from '../lib/frames.ts';
import { saidInside } from '../lib/said-inside.ts';
import { exchanged } from '../sandbox/mount-denied.ts';
import type { ConnectOptions, GuestConnection, RequestOptions } from './connection.ts';
import { describeViolation, typeOf } from './describe-violation.ts';
import { readFrames } from './frame-reader.ts';
import { createHeartbeat, type Heartbeat } from './heartbeat.ts';
import { callMessage, refusedMessage, type WarmReport, type Welcome, warmMessage, welcomeMessage } from './messages.ts';
import { createPatience } from './patience.ts';
import { createPendingRequests, type Reply } from './pending-requests.ts';
import { createReceivedFrames } from './received-frames.ts';
import { createSentFrames, KEEPING_COST_BYTES, REPLAY_BYTES } from './sent-frames.ts';
import { createStreamTable, type GuestStream, type StreamReceiver, type StreamTable } from './stream-table.ts';

const PING_AFTER_MS = 5_000;
const LOST_AFTER_MS = 30_000;
/** What may wait to be written to a guest that does not read. */
const BACKLOG_BYTES = 4 * REPLAY_BYTES;
/** The nonce of a ping that is sent for the acknowledgement in its header. Those of the heartbeat have the epoch, which begins at 1. */
const ACKNOWLEDGING = 0;

/** Shakes hands with the guest behind `channel`. Rejects, with the channel destroyed, when it does not answer as it must. */
export async function connectGuest(channel: Duplex, options: ConnectOptions): Promise<GuestConnection> {
  const connection = new Connection(options);
  await connection.attach(channel, options.signal);
  return connection;
}

class Connection implements GuestConnection {
  readonly #options: ConnectOptions;
  readonly #ready = deferred<void>();
  readonly #warm = deferred<WarmReport>();
  readonly #ended = deferred<HotcellError>();
  readonly #requests = createPendingRequests();
  readonly #sent = createSentFrames();
  readonly #received = createReceivedFrames();
  readonly #heartbeat: Heartbeat;
  readonly #streams: StreamTable;
  #channel: Duplex | undefined;
  #welcomed: Deferred<Welcome> | undefined;
  #welcome: Welcome | undefined;
  #error: HotcellError | undefined;
  #epoch = 0;
  /** Writes to the channel that have not left this process. */
  #queuedWrites = 0;
  /** A ping that acknowledges frames is on its way, and its pong has not come. */
  #isAcknowledging = false;

  constructor(options: ConnectOptions) {
    this.#options = options;
    for (const promise of [this.#ready.promise, this.#warm.promise]) promise.catch(() => {});
    this.#heartbeat = createHeartbeat(options.pingAfterMs ?? PING_AFTER_MS, (silentMs) => this.#onSilence(silentMs));
    this.#streams = createStreamTable(
      (head, body, stream) => this.#send(head, body, stream),
      (frame) => options.onBackground?.(frame),
    );
  }

  get welcome(): Welcome {
    if (this.#welcome === undefined) throw new HotcellError('internal', 'the guest has not been welcomed');
    return this.#welcome;
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get warm(): Promise<WarmReport> {
    return this.#warm.promise;
  }

  get ended(): Promise<HotcellError> {
    return this.#ended.promise;
  }

  async attach(channel: Duplex, signal?: AbortSignal): Promise<void> {
    if (this.#error !== undefined) {
      channel.destroy();
      throw this.#error;
    }
    this.#detach();
    this.#channel = channel;
    this.#queuedWrites = 0;
    this.#isAcknowledging = false;
    this.#epoch += 1;
    this.#heartbeat.heard();
    const welcomed = deferred<Welcome>();
    this.#welcomed?.reject(new HotcellError('cancelled', 'another channel took over'));
    this.#welcomed = welcomed;
    welcomed.promise.catch(() => {});
    this.#readFrom(channel);
    this.#write({ type: 'hello', protocols: [1], ...this.#introduction() });
    const giveUp = () => this.#giveUp(new HotcellError('start_timeout', 'the guest did not answer in time'));
    signal?.addEventListener('abort', giveUp, { once: true });
    try {
      if (signal?.aborted === true) giveUp();
      this.#welcome = await welcomed.promise;
    } finally {
      signal?.removeEventListener('abort', giveUp);
    }
    // SECURITY: a guest that sends its welcome and a violation in one write has ended the connection before this runs.
    if (this.#error !== undefined) throw this.#error;
    this.#heartbeat.start();
  }

  #introduction(): Record<string, unknown> {
    if (this.#epoch > 1) return { epoch: this.#epoch };
    const { config } = this.#options;
    return config === undefined ? { epoch: 0, fresh: true } : { epoch: this.#epoch, config };
  }

  async reconnect(channel: Duplex, options: { signal?: AbortSignal } = {}): Promise<void> {
    await this.attach(channel, options.signal);
  }

  async request<Result>(
    head: Head,
    schema: z.ZodType<Result>,
    { body, onId, patience = createPatience() }: RequestOptions = {},
  ): Promise<Reply<Result>> {
    const reply = this.#requests.ask(schema, (id) => {
      this.#send({ ...head, id }, body);
      onId?.(id);
    });
    return patience.during(reply, () => this.close(unanswered(head)));
  }

  order(head: Head, body: Buffer, refused: (error: Error) => void): () => void {
    return this.#requests.order((id) => this.#send({ ...head, id }, body), refused);
  }

  openStream(receive: StreamReceiver, onEnd?: (error: HotcellError) => void): GuestStream {
    return this.#streams.open(receive, onEnd);
  }

  close(error = new HotcellError('session_closed', 'the session is closed')): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#heartbeat.stop();
    this.#detach();
    this.#ready.reject(error);
    this.#warm.reject(error);
    this.#welcomed?.reject(error);
    this.#requests.rejectAll(error);
    this.#streams.end(error);
    this.#ended.resolve(error);
  }

  #readFrom(channel: Duplex): void {
    const isCurrent = () => channel === this.#channel;
    readFrames(channel, {
      heard: () => {
        if (isCurrent()) this.#heartbeat.heard();
        return isCurrent();
      },
      receive: (frame) => {
        if (isCurrent()) this.#receive(frame);
        return isCurrent();
      },
      failed: (error) =>
        this.close(
          new HotcellError('guest_misbehaved', `the guest broke the protocol: ${describeViolation(error)}`, {
            remedy: 'Open a new session. If it happens again without unusual code, report it.',
            cause: error,
          }),
        ),
      lost: (reason) => this.#lose(channel, reason),
    });
  }

  #receive(frame: Frame): void {
    this.#sent.acknowledge(frame.ack);
    if (this.#welcomed !== undefined) {
      this.#handshake(frame);
      return;
    }
    if (frame.head.type === 'gap') {
      const droppedBytes = this.#received.skip(frame.head);
      this.#options.onGap?.(droppedBytes);
      return;
    }
    if (!this.#received.isNew(frame)) return;
    if (frame.stream !== 0) this.#streams.receive(frame, this.#epoch > 1);
    else this.#receiveControl(frame);
    if (this.#received.owesAcknowledgement()) this.#acknowledge();
  }

  /** SECURITY: one at a time. A guest that floods the host and reads nothing would make it queue one for each 64 frames. */
  #acknowledge(): void {
    if (this.#isAcknowledging) return;
    this.#isAcknowledging = true;
    this.#write({ type: 'ping', nonce: ACKNOWLEDGING });
  }

  #handshake(frame: Frame): void {
    const waiting = this.#welcomed;
    if (frame.head.type === 'refused') {
      const { reason, code: why } = refusedMessage.parse(frame.head);
      // SECURITY: only where it was asked to compare. A guest has no other way to say that the host's folders were exchanged.
      const compared = this.#epoch === 1 && this.#options.config?.mounts !== undefined;
      if (why === 'mount-exchanged' && compared) return this.close(exchanged('a mounted folder'));
      // One whose server was killed before it had configured it is no sandbox of anybody's yet.
      const code = this.#options.config === undefined ? 'sandbox_lost' : 'guest_misbehaved';
      this.close(
        new HotcellError(code, `the guest refused the connection: ${saidInside(reason)}`, {
          remedy: 'Open a new session.',
        }),
      );
      return;
    }
    if (frame.head.type !== 'welcome') {
      throw new ProtocolViolation(`type: ${typeOf(frame)} before welcome`);
    }
    const welcome = welcomeMessage.parse(frame.head);
    const isFirst = this.#epoch === 1;
    // Only the guest knows how many connections it had before it was taken over.
    if (isFirst && this.#options.config === undefined) this.#epoch = welcome.epoch;
    if (welcome.epoch !== this.#epoch) throw new ProtocolViolation(`epoch: ${welcome.epoch} is not ${this.#epoch}`);
    this.#welcomed = undefined;
    if (!isFirst) this.#received.allowGap();
    for (const encoded of this.#sent.unacknowledged()) this.#writeEncoded(encoded);
    waiting?.resolve(welcome);
  }

  #receiveControl(frame: Frame): void {
    switch (frame.head.type) {
      case 'reply':
        return this.#requests.answer(frame);
      case 'ready':
        return this.#ready.resolve();
      case 'warm':
        return this.#warm.resolve(warmMessage.parse(frame.head));
      case 'kernel-failed':
        return this.#ready.reject(
          new HotcellError(
            'kernel_unavailable',
            `no kernel could be started: ${saidInside(String(frame.head.message))}`,
          ),
        );
      case 'ping':
        return this.#write({ type: 'pong', nonce: frame.head.nonce });
      case 'pong':
        if (frame.head.nonce === ACKNOWLEDGING) this.#isAcknowledging = false;
        return;
      case 'credit':
        return this.#streams.takeCredit(frame.head);
      case 'call':
        // There is no broker yet: section 10 says what a host without one answers.
        this.#send({
          type: 'reply',
          id: callMessage.parse(frame.head).id,
          ok: false,
          error: { code: 'not-offered', message: 'this host serves no calls from the sandbox' },
        });
        return;
      case 'call.cancel':
        return; // answered already
      case 'welcome':
        throw new ProtocolViolation('welcome: twice');
      default:
        throw new ProtocolViolation(`type: ${typeOf(frame)} is not known`);
    }
  }

  /** Sends a frame, or keeps it until there is a channel. Returns what it costs in credit; throws when the connection has ended. */
  #send(head: Head, body: Buffer = Buffer.alloc(0), stream = 0): number {
    if (this.#error !== undefined) throw this.#error;
    let encoded: Buffer;
    try {
      encoded = this.#sent.add(head, body, stream);
    } catch (error) {
      if (error instanceof HotcellError && error.code !== 'invalid_argument') this.close(error);
      throw error;
    }
    if (this.#welcomed === undefined) this.#writeEncoded(encoded);
    return encoded.length;
  }

  #write(head: Head): void {
    this.#writeEncoded(encodeFrame({ head }));
  }

  #writeEncoded(encoded: Buffer): void {
    const channel = this.#channel;
    if (channel === undefined || channel.destroyed) return;
    this.#queuedWrites += 1;
    channel.write(setAck(encoded, this.#received.acknowledge()), () => {
      if (channel === this.#channel) this.#queuedWrites -= 1;
    });
    // SECURITY: a guest that asks and asks (`ping`, `call`) and never reads the answers would fill the host's memory with them.
    if (channel.writableLength + this.#queuedWrites * KEEPING_COST_BYTES > BACKLOG_BYTES) {
      this.close(new HotcellError('guest_misbehaved', 'the guest does not read its messages'));
    }
  }

  #onSilence(silentMs: number): void {
    if (this.#channel === undefined) return;
    if (silentMs >= (this.#options.lostAfterMs ?? LOST_AFTER_MS)) {
      this.#lose(this.#channel, `the guest has been silent for ${Math.round(silentMs / 1000)} s`);
    } else if (this.#welcomed === undefined) this.#write({ type: 'ping', nonce: this.#epoch });
  }

  #lose(channel: Duplex, reason: string): void {
    if (channel !== this.#channel || this.#error !== undefined) return;
    const error = new HotcellError('sandbox_lost', `the sandbox ended: ${reason}`, {
      remedy: 'Open a new session; the variables and files of this one are lost.',
    });
    if (this.#options.canReconnect !== true) this.close(error);
    else if (this.#welcomed !== undefined) this.#giveUp(error);
    else {
      this.#detach();
      this.#options.onLost?.(reason, this);
    }
  }

  /** The handshake failed for a reason that lies in the channel. The first time that is the end; later another may be tried. */
  #giveUp(error: HotcellError): void {
    if (this.#epoch === 1 || this.#options.canReconnect !== true) this.close(error);
    else {
      this.#detach();
      this.#welcomed?.reject(error);
    }
  }

  #detach(): void {
    const channel = this.#channel;
    this.#channel = undefined;
    channel?.destroy();
  }
}

function unanswered({ type }: Head): HotcellError {
  return new HotcellError('sandbox_lost', `the guest is alive but does not reply (${type})`, {
    remedy: 'Open a new session; the variables and files of this one are lost.',
  });
}
