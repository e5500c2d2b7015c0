import { type Deferred, deferred } from '../lib/deferred.ts';
import { memoryCost } from '../lib/memory-cost.ts';
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

const QUEUE_BYTES = 524_288;
/** The longest text that is joined for a reader that is behind: it is encoded in one go. */
const MOST_JOINED_CHARS = 65_536;
/** What each push costs besides its text: an event in the queue, or a node of a text that is joined. SECURITY: empty and tiny events are bounded too. */
const PUSH_BYTES = 128;

interface Queued {
  readonly event: ExecutionEvent;
  readonly bytes: number;
}

/** A queue between one execution and whoever iterates over it. Nobody iterating costs nothing. */
export class EventQueue implements AsyncIterator<ExecutionEvent, undefined> {
  #queue: Queued[] = [];
  #queuedBytes = 0;
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
    if (!this.#waits && this.#queuedBytes > QUEUE_BYTES * 2) return;
    this.#append({ event, bytes: costOf(event) });
    this.#wakeReader?.();
    if (this.#queuedBytes <= QUEUE_BYTES || !this.#waits) return;
    this.#caughtUp ??= deferred<void>();
    return this.#caughtUp.promise;
  }

  /** Every writer that waits goes on: one that was forgotten would keep its credit from the guest for ever. */
  #letWritersGo(): void {
    this.#caughtUp?.resolve();
    this.#caughtUp = undefined;
  }

  /** What one stream printed in many small pieces is one event for a reader that is behind. */
  #append({ event, bytes }: Queued): void {
    this.#queuedBytes += bytes;
    const last = this.#queue.at(-1);
    const isText = event.kind === 'stdout' || event.kind === 'stderr';
    if (last !== undefined && isText && isJoinable(last.event, event)) {
      const text = last.event.text + event.text;
      this.#queue[this.#queue.length - 1] = { event: { kind: event.kind, text }, bytes: last.bytes + bytes };
    } else this.#queue.push({ event, bytes });
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
    while (this.#queue.length === 0 && this.#open) {
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
    }
    const first = this.#queue.shift();
    if (first === undefined) {
      if (this.#failure !== undefined) throw this.#failure;
      return { done: true, value: undefined };
    }
    this.#queuedBytes -= first.bytes;
    if (this.#queuedBytes <= QUEUE_BYTES / 2) this.#letWritersGo();
    return { done: false, value: first.event };
  }

  /** The reader has had enough: the execution goes on without it. */
  async return(): Promise<IteratorResult<ExecutionEvent, undefined>> {
    this.#queue = [];
    this.end();
    return { done: true, value: undefined };
  }
}

type TextEvent = Extract<ExecutionEvent, { readonly kind: 'stdout' | 'stderr' }>;

function isJoinable(last: ExecutionEvent, next: TextEvent): last is TextEvent {
  return last.kind === next.kind && (last as TextEvent).text.length + next.text.length <= MOST_JOINED_CHARS;
}

function costOf(event: ExecutionEvent): number {
  return PUSH_BYTES + (event.kind === 'stdout' || event.kind === 'stderr' ? 2 * event.text.length : memoryCost(event));
}
