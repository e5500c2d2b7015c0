import type { Duplex } from 'node:stream';
import { HotcellError } from '../errors/hotcell-error.ts';
import { type Deferred, deferred } from '../lib/deferred.ts';
import { createFrameDecoder, encodeFrame, type Frame, type Head, ProtocolViolation } from '../lib/frames.ts';
import type { GuestConfig } from '../sandbox/guest-config.ts';
import {
  gapMessage,
  refusedMessage,
  replyMessage,
  type WarmReport,
  type Welcome,
  warmMessage,
  welcomeMessage,
} from './messages.ts';

const WINDOW_BYTES = 262_144;
const CREDIT_STEP_BYTES = 65_536;
const REPLAY_BYTES = 4 * 1_048_576;
const ACK_EVERY_FRAMES = 64;
const PING_AFTER_MS = 5_000;
const LOST_AFTER_MS = 30_000;
const BACKGROUND_STREAM = 1;
const UNSEQUENCED = new Set(['hello', 'welcome', 'refused', 'ping', 'pong']);

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
  request(head: Head, options?: { body?: Buffer }): Promise<{ result: Record<string, unknown>; body: Buffer }>;
  openStream(receive: StreamReceiver): GuestStream;
  /** Takes over with a new channel after the old one was lost: what either side lacks is sent again. */
  reconnect(channel: Duplex): Promise<void>;
  /** Ends the connection at once; what is waiting rejects with `error`. */
  close(error?: HotcellError): void;
}

/** Frames of one stream, in order. Credit goes back when it returns, or when the promise it returned resolves. */
export type StreamReceiver = (frame: Frame) => void | Promise<void>;

export interface GuestStream {
  readonly id: number;
  /** Sends a body on the stream, waiting for credit. Rejects when the connection ends or the stream is released. */
  send(head: Head, body: Buffer): Promise<void>;
  release(): void;
}

export interface ConnectOptions {
  readonly config: GuestConfig;
  readonly signal?: AbortSignal;
  /** Output of background processes. */
  readonly onBackground?: (frame: Frame) => void;
  /** A channel that ends is not the end: `reconnect` may follow. */
  readonly canReconnect?: boolean;
  /** Bytes of output that the guest had to drop while nobody was connected. */
  readonly onGap?: (bytes: number) => void;
}

/** Shakes hands with the guest behind `channel`. Rejects, with the channel destroyed, when it does not answer as it must. */
export async function connectGuest(channel: Duplex, options: ConnectOptions): Promise<GuestConnection> {
  const connection = new Connection(options);
  const abort = () => connection.close(new HotcellError('start_timeout', 'the guest did not answer in time'));
  options.signal?.addEventListener('abort', abort, { once: true });
  try {
    if (options.signal?.aborted) abort();
    await connection.attach(channel);
  } finally {
    options.signal?.removeEventListener('abort', abort);
  }
  return connection;
}

interface HostStream {
  readonly receive: StreamReceiver;
  consumedBytes: number;
  /** Body bytes the guest has sent and we have not credited: more than a window is a violation. */
  outstandingBytes: number;
  creditBytes: number;
  waitingForCredit: Deferred<void> | undefined;
}

interface SentFrame {
  readonly sequence: number;
  readonly head: Head;
  readonly body: Buffer;
  readonly stream: number;
}

class Connection implements GuestConnection {
  readonly #options: ConnectOptions;
  readonly #ready = deferred<void>();
  readonly #warm = deferred<WarmReport>();
  readonly #ended = deferred<HotcellError>();
  readonly #requests = new Map<number, Deferred<{ result: Record<string, unknown>; body: Buffer }>>();
  readonly #streams = new Map<number, HostStream>();
  #channel: Duplex | undefined;
  #decoder = createFrameDecoder();
  #welcomed: Deferred<Welcome> | undefined;
  #welcome: Welcome | undefined;
  #error: HotcellError | undefined;
  #epoch = 0;
  #nextRequest = 1;
  #nextStream = 2;
  #nextSequence = 1;
  #sent: SentFrame[] = [];
  #sentBytes = 0;
  #received = 0;
  #ackedToGuest = 0;
  #heardAt = Date.now();
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(options: ConnectOptions) {
    this.#options = options;
    for (const promise of [this.#ready.promise, this.#warm.promise]) promise.catch(() => {});
    this.#streams.set(
      BACKGROUND_STREAM,
      hostStream((frame) => options.onBackground?.(frame)),
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

  async attach(channel: Duplex): Promise<void> {
    this.#detach();
    this.#channel = channel;
    this.#decoder = createFrameDecoder();
    this.#epoch += 1;
    this.#heardAt = Date.now();
    const welcomed = deferred<Welcome>();
    this.#welcomed = welcomed;
    welcomed.promise.catch(() => {});
    channel.on('data', (chunk: Buffer) => this.#read(channel, chunk));
    channel.resume();
    channel.on('error', (error) => this.#lose(channel, error.message));
    channel.on('close', () => this.#lose(channel, 'the channel was closed'));
    channel.on('end', () => this.#lose(channel, 'the guest closed the channel'));
    this.#write({
      type: 'hello',
      protocols: [1],
      epoch: this.#epoch,
      ...(this.#epoch === 1 ? { config: this.#options.config } : {}),
    });
    if (this.#error !== undefined) throw this.#error;
    this.#welcome = await welcomed.promise;
    this.#heartbeat ??= setInterval(() => this.#beat(), PING_AFTER_MS).unref();
  }

  async reconnect(channel: Duplex): Promise<void> {
    await this.attach(channel);
  }

  async request(
    head: Head,
    options: { body?: Buffer } = {},
  ): Promise<{ result: Record<string, unknown>; body: Buffer }> {
    if (this.#error !== undefined) throw this.#error;
    const id = this.#nextRequest++;
    const reply = deferred<{ result: Record<string, unknown>; body: Buffer }>();
    this.#requests.set(id, reply);
    this.#send({ ...head, id }, options.body);
    return reply.promise;
  }

  openStream(receive: StreamReceiver): GuestStream {
    const id = this.#nextStream;
    this.#nextStream += 2;
    const stream = hostStream(receive);
    this.#streams.set(id, stream);
    return {
      id,
      send: async (head, body) => {
        while (stream.creditBytes < body.length) {
          if (this.#error !== undefined) throw this.#error;
          if (!this.#streams.has(id)) throw new HotcellError('internal', 'the stream was released');
          stream.waitingForCredit ??= deferred<void>();
          await stream.waitingForCredit.promise;
        }
        if (this.#error !== undefined) throw this.#error;
        stream.creditBytes -= body.length;
        this.#send(head, body, id);
      },
      release: () => {
        this.#streams.delete(id);
        stream.waitingForCredit?.resolve();
      },
    };
  }

  close(error = new HotcellError('session_closed', 'the session is closed')): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    clearInterval(this.#heartbeat);
    this.#detach();
    this.#ready.reject(error);
    this.#warm.reject(error);
    this.#welcomed?.reject(error);
    for (const reply of this.#requests.values()) {
      reply.promise.catch(() => {});
      reply.reject(error);
    }
    this.#requests.clear();
    for (const stream of this.#streams.values()) stream.waitingForCredit?.resolve();
    this.#ended.resolve(error);
  }

  #read(channel: Duplex, chunk: Buffer): void {
    if (channel !== this.#channel) return;
    this.#heardAt = Date.now();
    try {
      for (const frame of this.#decoder.feed(chunk)) {
        this.#receive(frame);
        if (channel !== this.#channel) return;
      }
    } catch (error) {
      this.close(
        new HotcellError('guest_misbehaved', `the guest broke the protocol: ${describeViolation(error)}`, {
          remedy: 'Open a new session. If it happens again without unusual code, report it.',
          cause: error,
        }),
      );
    }
  }

  #receive(frame: Frame): void {
    this.#acknowledge(frame.ack);
    if (this.#welcomed !== undefined) {
      this.#handshake(frame);
      return;
    }
    if (frame.head.type === 'gap') {
      const gap = gapMessage.parse(frame.head);
      if (gap.next <= this.#received) throw new ProtocolViolation(`gap: ${gap.next} is behind ${this.#received}`);
      this.#received = gap.next - 1;
      this.#options.onGap?.(gap.bytes);
      return;
    }
    if (frame.sequence !== 0) {
      if (frame.sequence <= this.#received) return;
      if (frame.sequence !== this.#received + 1) {
        throw new ProtocolViolation(`sequence: ${frame.sequence} after ${this.#received}`);
      }
      this.#received = frame.sequence;
    } else if (!UNSEQUENCED.has(frame.head.type)) {
      throw new ProtocolViolation(`sequence: ${frame.head.type} has none`);
    }
    if (frame.stream !== 0) this.#receiveOnStream(frame);
    else this.#receiveControl(frame);
    if (this.#received - this.#ackedToGuest >= ACK_EVERY_FRAMES) this.#write({ type: 'ping', nonce: 0 });
  }

  #handshake(frame: Frame): void {
    const waiting = this.#welcomed;
    if (frame.head.type === 'refused') {
      const { reason } = refusedMessage.parse(frame.head);
      this.close(new HotcellError('guest_misbehaved', `the guest refused the connection: ${reason}`));
      return;
    }
    if (frame.head.type !== 'welcome') throw new ProtocolViolation(`${frame.head.type} before welcome`);
    const welcome = welcomeMessage.parse(frame.head);
    if (welcome.epoch !== this.#epoch) throw new ProtocolViolation(`epoch: ${welcome.epoch} is not ${this.#epoch}`);
    this.#welcomed = undefined;
    for (const sent of this.#sent) this.#writeFrame(sent);
    waiting?.resolve(welcome);
  }

  #receiveOnStream(frame: Frame): void {
    const stream = this.#streams.get(frame.stream);
    if (stream === undefined) {
      // Ours, released while the guest was still sending; or never opened by anybody.
      if (frame.stream >= this.#nextStream && frame.stream % 2 === 0) {
        throw new ProtocolViolation(`stream: ${frame.stream} was never opened`);
      }
      return;
    }
    const size = frame.body.length;
    stream.outstandingBytes += size;
    // A guest that nobody was connected to does not wait for credit, so its replay may exceed a window.
    if (stream.outstandingBytes > WINDOW_BYTES * 2 + (this.#epoch > 1 ? REPLAY_BYTES * 2 : 0)) {
      throw new ProtocolViolation(`credit: stream ${frame.stream} overran its window`);
    }
    const consumed = () => this.#credit(frame.stream, stream, size);
    const received = stream.receive(frame);
    if (received === undefined) consumed();
    else received.then(consumed, consumed);
  }

  #credit(id: number, stream: HostStream, size: number): void {
    stream.outstandingBytes -= size;
    stream.consumedBytes += size;
    if (stream.consumedBytes < CREDIT_STEP_BYTES || !this.#streams.has(id) || this.#error !== undefined) return;
    this.#send({ type: 'credit', stream: id, bytes: stream.consumedBytes });
    stream.consumedBytes = 0;
  }

  #receiveControl(frame: Frame): void {
    switch (frame.head.type) {
      case 'reply':
        return this.#reply(frame);
      case 'ready':
        return this.#ready.resolve();
      case 'warm':
        return this.#warm.resolve(warmMessage.parse(frame.head));
      case 'kernel-failed':
        return this.#ready.reject(
          new HotcellError('kernel_unavailable', `no kernel could be started: ${String(frame.head.message)}`),
        );
      case 'ping':
        return this.#write({ type: 'pong', nonce: frame.head.nonce });
      case 'pong':
        return;
      case 'credit':
        return this.#takeCredit(frame.head);
      case 'call':
        // There is no broker yet: section 10 says what a host without one answers.
        return this.#send({
          type: 'reply',
          id: frame.head.id,
          ok: false,
          error: { code: 'not-offered', message: 'this host serves no calls from the sandbox' },
        });
      case 'welcome':
        throw new ProtocolViolation('welcome: twice');
      default:
        throw new ProtocolViolation(`type: ${frame.head.type.slice(0, 40)} is not known`);
    }
  }

  #reply(frame: Frame): void {
    const reply = replyMessage.parse(frame.head);
    const waiting = this.#requests.get(reply.id);
    if (waiting === undefined) throw new ProtocolViolation(`reply: nobody asked ${reply.id}`);
    this.#requests.delete(reply.id);
    if (reply.ok) waiting.resolve({ result: reply.result, body: Buffer.from(frame.body) });
    else waiting.reject(new GuestRefusal(reply.error.code, reply.error.message));
  }

  #takeCredit(head: Head): void {
    const stream = this.#streams.get(Number(head.stream));
    if (stream === undefined) return;
    stream.creditBytes = Math.min(WINDOW_BYTES, stream.creditBytes + Math.max(0, Number(head.bytes) || 0));
    stream.waitingForCredit?.resolve();
    stream.waitingForCredit = undefined;
  }

  #send(head: Head, body: Buffer = Buffer.alloc(0), stream = 0): void {
    const frame: SentFrame = { sequence: this.#nextSequence++, head, body, stream };
    this.#sent.push(frame);
    this.#sentBytes += body.length;
    // The guest acknowledges with every frame it sends: one that never does is not a guest of ours.
    if (this.#sentBytes > REPLAY_BYTES * 2) {
      this.close(new HotcellError('guest_misbehaved', 'the guest acknowledges nothing'));
      return;
    }
    if (this.#welcomed === undefined) this.#writeFrame(frame);
  }

  #write(head: Head): void {
    this.#writeFrame({ sequence: 0, head, body: Buffer.alloc(0), stream: 0 });
  }

  #writeFrame(frame: SentFrame): void {
    if (this.#channel === undefined || this.#channel.destroyed) return;
    this.#ackedToGuest = this.#received;
    this.#channel.write(encodeFrame({ ...frame, ack: this.#received }));
  }

  #acknowledge(ack: number): void {
    if (ack >= this.#nextSequence) throw new ProtocolViolation(`ack: ${ack} was never sent`);
    let done = 0;
    for (const frame of this.#sent) {
      if (frame.sequence > ack) break;
      this.#sentBytes -= frame.body.length;
      done += 1;
    }
    if (done > 0) this.#sent.splice(0, done);
  }

  #beat(): void {
    const silentMs = Date.now() - this.#heardAt;
    if (this.#channel === undefined) return;
    if (silentMs > LOST_AFTER_MS)
      this.#lose(this.#channel, `the guest has been silent for ${Math.round(silentMs / 1000)} s`);
    else if (silentMs >= PING_AFTER_MS) this.#write({ type: 'ping', nonce: this.#epoch });
  }

  #lose(channel: Duplex, reason: string): void {
    if (channel !== this.#channel || this.#error !== undefined) return;
    this.#detach();
    if (this.#options.canReconnect === true && this.#welcomed === undefined) return;
    this.close(
      new HotcellError('sandbox_lost', `the sandbox ended: ${reason}`, {
        remedy: 'Open a new session; variables and files of this one are gone.',
      }),
    );
  }

  #detach(): void {
    const channel = this.#channel;
    this.#channel = undefined;
    channel?.destroy();
  }
}

/** The guest answered a request with an error of the protocol's table. */
export class GuestRefusal extends Error {
  override name = 'GuestRefusal';
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

function hostStream(receive: StreamReceiver): HostStream {
  return { receive, consumedBytes: 0, outstandingBytes: 0, creditBytes: WINDOW_BYTES, waitingForCredit: undefined };
}

function describeViolation(error: unknown): string {
  if (error instanceof ProtocolViolation) return error.message;
  return error instanceof Error && error.name === 'ZodError'
    ? 'a message has members of the wrong kind'
    : String(error);
}
