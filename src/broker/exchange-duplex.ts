import { Duplex } from 'node:stream';
import type { Taker } from '../lib/taker.ts';
import type { Exchange } from './method.ts';

/** Bytes that wait for the caller's credit here, besides those of the exchange. */
const WRITE_BYTES = 65_536;

/**
 * The bytes of a call as a stream, half-open, with backpressure in both directions: for code that serves sockets. It is
 * destroyed, with the reason, when the call ends.
 */
export class ExchangeDuplex extends Duplex implements Taker {
  readonly #exchange: Exchange;
  readonly #input: AsyncIterator<Buffer>;
  readonly #onAbort: () => void;

  constructor(exchange: Exchange) {
    super({ allowHalfOpen: true, writableHighWaterMark: WRITE_BYTES });
    this.#exchange = exchange;
    this.#input = exchange.input[Symbol.asyncIterator]();
    const { signal } = exchange;
    this.#onAbort = () => this.destroy(signal.reason as Error);
    signal.addEventListener('abort', this.#onAbort, { once: true });
    if (signal.aborted) this.#onAbort();
  }

  /** Ends the stream when everything is written, as sockets do. Node's HTTP server calls it behind a last response. */
  destroySoon(): void {
    if (this.writableFinished) this.destroy();
    else this.end(() => this.destroy());
  }

  takeNow(bytes: Buffer): boolean {
    if (!this.writable || this.writableLength > 0) return false;
    try {
      return this.#exchange.writeNow(bytes);
    } catch (error) {
      this.destroy(error as Error);
      return false;
    }
  }

  untilReady(): Promise<void> | undefined {
    return this.#exchange.untilReady();
  }

  override _read(): void {
    this.#input.next().then(
      ({ value, done }) => this.push(done === true ? null : value),
      (error: Error) => this.destroy(error),
    );
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.#exchange.write(chunk).then(() => done(), done);
  }

  override _final(done: (error?: Error) => void): void {
    this.#exchange.end().then(() => done(), done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#exchange.signal.removeEventListener('abort', this.#onAbort);
    done(error);
  }
}
