import type { Display, Value } from './result.ts';

/** What happens during an execution, as it happens. The end is the result. */
export type ExecutionEvent =
  | { readonly kind: 'stdout'; readonly text: string }
  | { readonly kind: 'stderr'; readonly text: string }
  | ({ readonly kind: 'display' } & Display)
  | ({ readonly kind: 'value' } & Value);

const QUEUE_CHARS = 262_144;

/** A queue between one execution and whoever iterates over it. Nobody iterating costs nothing. */
export class EventQueue implements AsyncIterator<ExecutionEvent, undefined> {
  #events: ExecutionEvent[] = [];
  #queuedChars = 0;
  #open = true;
  #wakeReader: (() => void) | undefined;
  #waitingWriters: (() => void)[] = [];
  #failure: unknown;

  /** A promise means: wait, the reader is behind. */
  push(event: ExecutionEvent): void | Promise<void> {
    if (!this.#open) return;
    this.#events.push(event);
    this.#queuedChars += 'text' in event ? event.text.length : 0;
    this.#wakeReader?.();
    if (this.#queuedChars <= QUEUE_CHARS) return;
    return new Promise((resolve) => {
      this.#waitingWriters.push(resolve);
    });
  }

  end(failure?: unknown): void {
    this.#open = false;
    this.#failure = failure;
    this.#wakeReader?.();
    this.#wakeWriters();
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
    this.#queuedChars -= 'text' in event ? event.text.length : 0;
    if (this.#queuedChars <= QUEUE_CHARS / 2) this.#wakeWriters();
    return { done: false, value: event };
  }

  /** The reader has had enough: the execution goes on without it. */
  async return(): Promise<IteratorResult<ExecutionEvent, undefined>> {
    this.#events = [];
    this.end();
    return { done: true, value: undefined };
  }

  /** All of them: each holds credit that the guest will not get otherwise. */
  #wakeWriters(): void {
    const writers = this.#waitingWriters;
    this.#waitingWriters = [];
    for (const wake of writers) wake();
  }
}
