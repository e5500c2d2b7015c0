import { type Deferred, deferred } from '../lib/deferred.ts';
import type { Display, Value } from './result.ts';

/** What happens during an execution, as it happens. The end is the result. */
export type ExecutionEvent =
  | { readonly kind: 'stdout'; readonly text: string }
  | { readonly kind: 'stderr'; readonly text: string }
  /** `update`: the new state of a display that was shown before under the same id. */
  | ({ readonly kind: 'display'; readonly update: boolean } & Display)
  /** All output so far is void. `wait`: not before the next comes. */
  | { readonly kind: 'clear'; readonly wait: boolean }
  | ({ readonly kind: 'value' } & Value);

const QUEUE_CHARS = 262_144;
/** What an event costs besides its content: empty ones are bounded too. */
const EVENT_CHARS = 16;

/** A queue between one execution and whoever iterates over it. Nobody iterating costs nothing. */
export class EventQueue implements AsyncIterator<ExecutionEvent, undefined> {
  #events: ExecutionEvent[] = [];
  #queuedChars = 0;
  #open = true;
  #waits = true;
  #wakeReader: (() => void) | undefined;
  #caughtUp: Deferred<void> | undefined;
  #failure: unknown;

  /** False when the execution has ended, or the reader has had enough. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** A promise means: wait, the reader is behind. */
  push(event: ExecutionEvent): void | Promise<void> {
    if (!this.#open) return;
    // The result has the head and the tail of it, and the log has the rest.
    if (!this.#waits && this.#queuedChars > QUEUE_CHARS * 2) return;
    this.#append(event);
    this.#queuedChars += sizeOf(event);
    this.#wakeReader?.();
    if (this.#queuedChars <= QUEUE_CHARS || !this.#waits) return;
    this.#caughtUp ??= deferred<void>();
    return this.#caughtUp.promise;
  }

  /** Every writer that waits goes on: one that was forgotten would keep its credit from the guest for ever. */
  #letWritersGo(): void {
    this.#caughtUp?.resolve();
    this.#caughtUp = undefined;
  }

  /** What one stream printed in many small pieces is one event for a reader that is behind. */
  #append(event: ExecutionEvent): void {
    const last = this.#events.at(-1);
    if (last !== undefined && last.kind === event.kind && (last.kind === 'stdout' || last.kind === 'stderr')) {
      this.#events[this.#events.length - 1] = { ...last, text: last.text + (event as typeof last).text };
    } else this.#events.push(event);
  }

  /** From now on nobody waits for the reader; what it cannot keep up with is left out. */
  stopWaiting(): void {
    this.#waits = false;
    this.#letWritersGo();
  }

  end(failure?: unknown): void {
    this.#open = false;
    this.#failure = failure;
    this.#wakeReader?.();
    this.#letWritersGo();
  }

  async next(): Promise<IteratorResult<ExecutionEvent, undefined>> {
    while (this.#events.length === 0 && this.#open) {
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
    }
    const event = this.#events.shift();
    if (event === undefined) {
      if (this.#failure !== undefined) throw this.#failure;
      return { done: true, value: undefined };
    }
    this.#queuedChars -= sizeOf(event);
    if (this.#queuedChars <= QUEUE_CHARS / 2) this.#letWritersGo();
    return { done: false, value: event };
  }

  /** The reader has had enough: the execution goes on without it. */
  async return(): Promise<IteratorResult<ExecutionEvent, undefined>> {
    this.#events = [];
    this.end();
    return { done: true, value: undefined };
  }
}

function sizeOf(event: ExecutionEvent): number {
  const text = 'text' in event ? event.text.length : 0;
  const representations = 'representations' in event ? event.representations : [];
  return representations.reduce((size, { data }) => size + data.length, text + EVENT_CHARS);
}
