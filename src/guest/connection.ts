import type { Duplex } from 'node:stream';
import { HotcellError } from '../errors/hotcell-error.ts';
import { type Deferred, deferred } from '../lib/deferred.ts';
import {
  createFrameDecoder,
  encodeFrame,
  type Frame,
  type Head,
  MAX_FRAME_BYTES,
  MAX_SEQUENCE,
  ProtocolViolation,
  setAck,
} from '../lib/frames.ts';
import type { GuestConfig } from '../sandbox/guest-config.ts';
import { describeViolation } from './describe-violation.ts';
import {
  callMessage,
  creditMessage,
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
/** What may wait to be written to a guest that does not read. */
const BACKLOG_BYTES = 4 * REPLAY_BYTES;
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
  /**
   * Takes over with a new channel after the old one was lost: what either side lacks is sent again. When it rejects because the new
   * channel was lost too, or the signal was given, it may be tried again.
   */
  reconnect(channel: Duplex, options?: { signal?: AbortSignal }): Promise<void>;
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
  /** Called when a channel was lost that `reconnect` may replace. */
  readonly onLost?: (reason: string) => void;
  /** A channel that is silent for so long is asked whether it lives. */
  readonly pingAfterMs?: number;
  /** One that is silent for so long, asked or not, is lost. */
  readonly lostAfterMs?: number;
}

/** Shakes hands with the guest behind `channel`. Rejects, with the channel destroyed, when it does not answer as it must. */
export async function connectGuest(channel: Duplex, options: ConnectOptions): Promise<GuestConnection> {
  const connection = new Connection(options);
  await connection.attach(channel, options.signal);
  return connection;
}

interface HostStream {
  readonly receive: StreamReceiver;
  consumedBytes: number;
  /** Bytes of frames that the guest has sent and we have not consumed. */
  outstandingBytes: number;
  creditBytes: number;
  waitingForCredit: Deferred<void> | undefined;
}

/** A frame that the guest has not acknowledged yet, ready to be sent again. */
interface SentFrame {
  readonly sequence: number;
  readonly encoded: Buffer;
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
  #mayGap = false;
  #heard = false;
  #silentBeats = 0;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(options: ConnectOptions) {
    this.#options = options;
    for (const promise of [this.#ready.promise, this.#warm.promise]) promise.catch(() => {});
    this.#streams.set(
      BACKGROUND_STREAM,
      hostStream((frame) => {
        options.onBackground?.(frame);
      }),
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
    this.#decoder = createFrameDecoder();
    this.#epoch += 1;
    this.#heard = true;
    const welcomed = deferred<Welcome>();
    this.#welcomed?.reject(new HotcellError('cancelled', 'another channel took over'));
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
    const giveUp = () => this.#giveUp(new HotcellError('start_timeout', 'the guest did not answer in time'));
    signal?.addEventListener('abort', giveUp, { once: true });
    try {
      if (signal?.aborted === true) giveUp();
      this.#welcome = await welcomed.promise;
    } finally {
      signal?.removeEventListener('abort', giveUp);
    }
    this.#heartbeat ??= setInterval(() => this.#beat(), this.#pingAfterMs).unref();
  }

  async reconnect(channel: Duplex, options: { signal?: AbortSignal } = {}): Promise<void> {
    await this.attach(channel, options.signal);
  }

  async request(
    head: Head,
    options: { body?: Buffer } = {},
  ): Promise<{ result: Record<string, unknown>; body: Buffer }> {
    if (this.#error !== undefined) throw this.#error;
    const id = this.#nextRequest++;
    const reply = deferred<{ result: Record<string, unknown>; body: Buffer }>();
    this.#send({ ...head, id }, options.body);
    if (this.#error !== undefined) throw this.#error;
    this.#requests.set(id, reply);
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
        while (stream.creditBytes <= 0) {
          if (this.#error !== undefined) throw this.#error;
          if (!this.#streams.has(id)) throw new HotcellError('internal', 'the stream was released');
          stream.waitingForCredit ??= deferred<void>();
          await stream.waitingForCredit.promise;
        }
        if (this.#error !== undefined) throw this.#error;
        stream.creditBytes -= this.#send(head, body, id);
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
    this.#heard = true;
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
      this.#skip(frame.head);
      return;
    }
    this.#mayGap = false;
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

  #skip(head: Head): void {
    if (!this.#mayGap) throw new ProtocolViolation('gap: only right after a welcome that was not the first');
    this.#mayGap = false;
    const gap = gapMessage.parse(head);
    if (gap.next <= this.#received + 1) {
      throw new ProtocolViolation(`gap: next ${gap.next} leaves nothing out after ${this.#received}`);
    }
    this.#received = gap.next - 1;
    this.#options.onGap?.(gap.bytes);
  }

  #handshake(frame: Frame): void {
    const waiting = this.#welcomed;
    if (frame.head.type === 'refused') {
      const { reason } = refusedMessage.parse(frame.head);
      this.close(new HotcellError('guest_misbehaved', `the guest refused the connection: ${reason}`));
      return;
    }
    if (frame.head.type !== 'welcome') {
      throw new ProtocolViolation(`type: ${frame.head.type.slice(0, 40)} before welcome`);
    }
    const welcome = welcomeMessage.parse(frame.head);
    if (welcome.epoch !== this.#epoch) throw new ProtocolViolation(`epoch: ${welcome.epoch} is not ${this.#epoch}`);
    this.#welcomed = undefined;
    this.#mayGap = this.#epoch > 1;
    for (const sent of this.#sent) this.#writeEncoded(sent.encoded);
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
    const size = frame.sizeBytes;
    stream.outstandingBytes += size;
    // A guest that nobody was connected to does not wait for credit, so its replay may exceed a window.
    if (stream.outstandingBytes > WINDOW_BYTES + MAX_FRAME_BYTES + (this.#epoch > 1 ? REPLAY_BYTES : 0)) {
      throw new ProtocolViolation(`credit: stream ${frame.stream} overran its window`);
    }
    const consumed = () => this.#credit(frame.stream, stream, size);
    const received = stream.receive(frame);
    if (received instanceof Promise) received.then(consumed, consumed);
    else consumed();
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
          new HotcellError(
            'kernel_unavailable',
            `no kernel could be started: ${String(frame.head.message).slice(0, 1000)}`,
          ),
        );
      case 'ping':
        return this.#write({ type: 'pong', nonce: frame.head.nonce });
      case 'pong':
        return;
      case 'credit':
        return this.#takeCredit(frame.head);
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
    const credit = creditMessage.parse(head);
    const stream = this.#streams.get(credit.stream);
    if (stream === undefined) return;
    stream.creditBytes = Math.min(WINDOW_BYTES, stream.creditBytes + credit.bytes);
    stream.waitingForCredit?.resolve();
    stream.waitingForCredit = undefined;
  }

  /** Sends a frame, or keeps it until there is a channel. Returns what it costs in credit. */
  #send(head: Head, body: Buffer = Buffer.alloc(0), stream = 0): number {
    // Encoded before anything is counted: one that is too large must not leave a hole in the sequence.
    const sequence = this.#nextSequence;
    const encoded = encodeOrRefuse(head, body, stream, sequence);
    this.#nextSequence += 1;
    this.#sent.push({ sequence, encoded });
    this.#sentBytes += encoded.length;
    // The guest acknowledges with every frame it sends: one that never does is not a guest of ours.
    if (this.#sentBytes > REPLAY_BYTES * 2) {
      this.close(new HotcellError('guest_misbehaved', 'the guest acknowledges nothing'));
    } else if (sequence === MAX_SEQUENCE) {
      this.close(new HotcellError('sandbox_lost', 'the channel has carried as many frames as it can count'));
    } else if (this.#welcomed === undefined) this.#writeEncoded(encoded);
    return encoded.length;
  }

  #write(head: Head): void {
    this.#writeEncoded(encodeFrame({ head }));
  }

  #writeEncoded(encoded: Buffer): void {
    const channel = this.#channel;
    if (channel === undefined || channel.destroyed) return;
    this.#ackedToGuest = this.#received;
    channel.write(setAck(encoded, this.#received));
    // SECURITY: a guest that asks and asks (`ping`, `call`) and never reads the answers would fill the host's memory with them.
    if (channel.writableLength > BACKLOG_BYTES) {
      this.close(new HotcellError('guest_misbehaved', 'the guest does not read what it is sent'));
    }
  }

  #acknowledge(ack: number): void {
    if (ack >= this.#nextSequence) throw new ProtocolViolation(`ack: ${ack} was never sent`);
    let done = 0;
    for (const frame of this.#sent) {
      if (frame.sequence > ack) break;
      this.#sentBytes -= frame.encoded.length;
      done += 1;
    }
    if (done > 0) this.#sent.splice(0, done);
  }

  get #pingAfterMs(): number {
    return this.#options.pingAfterMs ?? PING_AFTER_MS;
  }

  /** Counts beats and not the clock: a host that was itself asleep or busy must not take the guest for dead. */
  #beat(): void {
    this.#silentBeats = this.#heard ? 0 : this.#silentBeats + 1;
    this.#heard = false;
    if (this.#channel === undefined || this.#silentBeats === 0) return;
    const silentMs = this.#silentBeats * this.#pingAfterMs;
    if (silentMs >= (this.#options.lostAfterMs ?? LOST_AFTER_MS)) {
      this.#lose(this.#channel, `the guest has been silent for ${Math.round(silentMs / 1000)} s`);
    } else if (this.#welcomed === undefined) this.#write({ type: 'ping', nonce: this.#epoch });
  }

  #lose(channel: Duplex, reason: string): void {
    if (channel !== this.#channel || this.#error !== undefined) return;
    const error = new HotcellError('sandbox_lost', `the sandbox ended: ${reason}`, {
      remedy: 'Open a new session; variables and files of this one are gone.',
    });
    if (this.#options.canReconnect !== true) this.close(error);
    else if (this.#welcomed !== undefined) this.#giveUp(error);
    else {
      this.#detach();
      this.#options.onLost?.(reason);
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

function encodeOrRefuse(head: Head, body: Buffer, stream: number, sequence: number): Buffer {
  try {
    return encodeFrame({ head, body, stream, sequence });
  } catch (error) {
    throw new HotcellError('invalid_argument', `${head.type}: the request is too large (${describeViolation(error)})`);
  }
}
