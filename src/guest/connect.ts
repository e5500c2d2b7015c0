import type { Duplex } from 'node:stream';
import type * as z from 'zod';
import { HotcellError } from '../errors/hotcell-error.ts';
import { type Deferred, deferred } from '../lib/deferred.ts';
import { type Frame, type Head, ProtocolViolation } from '../lib/frames.ts';
import { saidInside } from '../lib/said-inside.ts';
import { type AttachedChannel, attachChannel } from './attached-channel.ts';
import { type CallTable, createCallTable } from './calls.ts';
import type { ConnectOptions, GuestConnection, RequestOptions } from './connection.ts';
import { describeViolation, typeOf } from './describe-violation.ts';
import { readFrames } from './frame-reader.ts';
import { helloMessage, readAnswer } from './handshake.ts';
import { createHeartbeat, type Heartbeat } from './heartbeat.ts';
import { type WarmReport, type Welcome, warmMessage } from './messages.ts';
import { createPatience, type GivenUp } from './patience.ts';
import { createPendingRequests, type Reply } from './pending-requests.ts';
import { createReceivedFrames } from './received-frames.ts';
import { createSentFrames } from './sent-frames.ts';
import { createStreamTable, type GuestStream, type StreamReceiver, type StreamTable } from './stream-table.ts';

const PING_AFTER_MS = 5_000;
const LOST_AFTER_MS = 30_000;

/** Connects to the guest behind `channel`. Rejects, with the channel destroyed, if the handshake fails. */
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
  readonly #calls: CallTable;
  #channel: AttachedChannel | undefined;
  #welcomed: Deferred<Welcome> | undefined;
  #welcome: Welcome | undefined;
  #error: HotcellError | undefined;
  #epoch = 0;

  constructor(options: ConnectOptions) {
    this.#options = options;
    for (const promise of [this.#ready.promise, this.#warm.promise]) promise.catch(() => {});
    this.#heartbeat = createHeartbeat(options.pingAfterMs ?? PING_AFTER_MS, (silentMs) => this.#onSilence(silentMs));
    this.#streams = createStreamTable(
      (head, body, stream) => this.#send(head, body, stream),
      (frame) => options.onBackground?.(frame),
      () => this.#sent.hasRoom(),
    );
    this.#calls = createCallTable((head) => this.#send(head), this.#streams, options.onCall);
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
    this.#loseCalls('another channel took over');
    const attached = attachChannel(channel, {
      acknowledgement: () => this.#received.acknowledge(),
      onBacklog: () => this.close(new HotcellError('guest_misbehaved', 'the guest does not read its messages')),
    });
    this.#channel = attached;
    this.#epoch += 1;
    this.#heartbeat.heard();
    const welcomed = deferred<Welcome>();
    this.#welcomed?.reject(new HotcellError('cancelled', 'another channel took over'));
    this.#welcomed = welcomed;
    welcomed.promise.catch(() => {});
    this.#readFrom(channel, attached);
    attached.writeHead(helloMessage({ epoch: this.#epoch, config: this.#options.config }));
    const giveUp = () => this.#giveUp(new HotcellError('start_timeout', 'the guest did not answer in time'));
    signal?.addEventListener('abort', giveUp, { once: true });
    try {
      if (signal?.aborted === true) giveUp();
      this.#welcome = await welcomed.promise;
    } finally {
      signal?.removeEventListener('abort', giveUp);
    }
    // SECURITY: a guest that sends its welcome and a violation in one write has ended the connection before this line
    // runs.
    if (this.#error !== undefined) throw this.#error;
    this.#heartbeat.start();
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
    return patience.during(reply, (why) => this.close(unanswered(head, why)));
  }

  requestOnStream(head: Head, body: Buffer, refused: (error: Error) => void): () => void {
    return this.#requests.requestOnStream((id) => this.#send({ ...head, id }, body), refused);
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
    this.#calls.lose(error);
    this.#streams.end(error);
    this.#ended.resolve(error);
  }

  #readFrom(channel: Duplex, attached: AttachedChannel): void {
    const isCurrent = () => attached === this.#channel;
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
      lost: (reason) => this.#lose(attached, reason),
    });
  }

  #receive(frame: Frame): void {
    this.#sent.acknowledge(frame.ack);
    this.#streams.roomMade();
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
    if (this.#received.owesAcknowledgement()) this.#channel?.acknowledge();
  }

  #handshake(frame: Frame): void {
    const waiting = this.#welcomed;
    const isFirst = this.#epoch === 1;
    const answer = readAnswer(frame, { epoch: this.#epoch, config: this.#options.config });
    if (answer instanceof HotcellError) return this.close(answer);
    this.#epoch = answer.epoch;
    this.#welcomed = undefined;
    if (!isFirst) this.#received.allowGap();
    for (const encoded of this.#sent.unacknowledged()) this.#channel?.write(encoded);
    waiting?.resolve(answer);
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
        return this.#channel?.writeHead({ type: 'pong', nonce: frame.head.nonce });
      case 'pong':
        return this.#channel?.pong(frame.head.nonce);
      case 'credit':
        return this.#streams.takeCredit(frame.head);
      case 'call':
        return this.#calls.begin(frame.head);
      case 'call.cancel':
        return this.#calls.cancel(frame.head);
      case 'welcome':
        throw new ProtocolViolation('welcome: twice');
      default:
        throw new ProtocolViolation(`type: ${typeOf(frame)} is not known`);
    }
  }

  /**
   * Sends a frame, or keeps it until there is a channel. Returns its cost in credit; throws if the connection has
   * ended.
   */
  #send(head: Head, body: Buffer = Buffer.alloc(0), stream = 0): number {
    if (this.#error !== undefined) throw this.#error;
    let encoded: Buffer;
    try {
      encoded = this.#sent.add(head, body, stream);
    } catch (error) {
      if (error instanceof HotcellError && error.code !== 'invalid_argument') this.close(error);
      throw error;
    }
    if (this.#welcomed === undefined) this.#channel?.write(encoded);
    return encoded.length;
  }

  #onSilence(silentMs: number): void {
    if (this.#channel === undefined) return;
    if (silentMs >= (this.#options.lostAfterMs ?? LOST_AFTER_MS)) {
      this.#lose(this.#channel, `the guest has been silent for ${Math.round(silentMs / 1000)} s`);
    } else if (this.#welcomed === undefined) this.#channel.writeHead({ type: 'ping', nonce: this.#epoch });
  }

  #lose(channel: AttachedChannel, reason: string): void {
    if (channel !== this.#channel || this.#error !== undefined) return;
    const error = new HotcellError('sandbox_lost', `the sandbox ended: ${reason}`, {
      remedy: 'Open a new session; the variables and files of this one are lost.',
    });
    if (this.#options.canReconnect !== true) this.close(error);
    else if (this.#welcomed !== undefined) this.#giveUp(error);
    else {
      this.#detach();
      this.#loseCalls(reason);
      this.#options.onLost?.(reason, this);
    }
  }

  /** The guest has failed them too, so nobody waits for their replies. */
  #loseCalls(reason: string): void {
    this.#calls.lose(new HotcellError('sandbox_lost', `the channel to the sandbox was lost: ${reason}`));
  }

  /**
   * Ends a handshake that failed because of the channel. The first one ends the connection; after a later one another
   * channel may be tried.
   */
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

function unanswered({ type }: Head, why: GivenUp): HotcellError {
  const how = why === 'silent' ? 'does not reply' : 'transfers too few bytes';
  return new HotcellError('sandbox_lost', `the guest is alive but ${how} (${type})`, {
    remedy: 'Open a new session; the variables and files of this one are lost.',
  });
}
