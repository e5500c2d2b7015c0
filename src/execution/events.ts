import { type Deferred, deferred } from '../lib/deferred.ts';
import { memoryCost } from '../lib/memory-cost.ts';
import { ownString } from '../lib/own-string.ts';
import type { Display, Value } from './result.ts';

/** An event of an execution, in order. The end is not an event but the result. */
export type ExecutionEvent =
  | { readonly kind: 'stdout'; readonly text: string }
  | { readonly kind: 'stderr'; readonly text: string }
  /** `update`: whether this is the new state of an earlier display with the same id. */
  | ({ readonly kind: 'display'; readonly update: boolean } & Display)
  /** Discards all output so far; with `wait`, only when the next output comes. */
  | { readonly kind: 'clear'; readonly wait: boolean }
  | ({ readonly kind: 'value' } & Value);

const QUEUE_BYTES = 524_288;
/** Maximum length of joined output for a reader that is behind, because it is encoded at once. */
const MOST_JOINED_CHARS = 65_536;
/**
 * Memory of each push besides its text: an event in the queue, or a node of a joined text. SECURITY: bounds empty and
 * tiny events too.
 */
const PUSH_BYTES = 128;

interface Queued {
  readonly event: ExecutionEvent;
  readonly bytes: number;
  readonly isJoined?: boolean;
}

/** The queue between one execution and one reader of its events. */
export class EventQueue implements AsyncIterator<ExecutionEvent, undefined> {
  #queue: Queued[] = [];
  #queuedBytes = 0;
  #open = true;
  #waits = true;
  #wakeReader: (() => void) | undefined;
  #caughtUp: Deferred<void> | undefined;
  #failure: unknown;

  /** False when the execution has ended or the reader has stopped. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Returns a promise while the reader is behind: the writer waits for it. */
  push(event: ExecutionEvent): void | Promise<void> {
    if (!this.#open) return;
    // Drop the event: the result has its head and tail, and the log has the rest.
    if (!this.#waits && this.#queuedBytes > QUEUE_BYTES * 2) return;
    this.#append({ event, bytes: costOf(event) });
    this.#wakeReader?.();
    if (this.#queuedBytes <= QUEUE_BYTES || !this.#waits) return;
    this.#caughtUp ??= deferred<void>();
    return this.#caughtUp.promise;
  }

  /** Resumes all waiting writers. A forgotten one would hold back the guest's credit for ever. */
  #letWritersGo(): void {
    this.#caughtUp?.resolve();
    this.#caughtUp = undefined;
  }

  /** Appends an event. Consecutive output of one stream is joined into one event. */
  #append({ event, bytes }: Queued): void {
    this.#queuedBytes += bytes;
    const last = this.#queue.at(-1);
    const isText = event.kind === 'stdout' || event.kind === 'stderr';
    if (last !== undefined && isText && isJoinable(last.event, event)) {
      const text = last.event.text + event.text;
      this.#queue[this.#queue.length - 1] = {
        event: { kind: event.kind, text },
        bytes: last.bytes + bytes,
        isJoined: true,
      };
    } else this.#queue.push({ event, bytes });
  }

  /** Ends backpressure: writers no longer wait, and events that the reader cannot keep up with are dropped. */
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
    return { done: false, value: first.isJoined === true ? flattened(first.event) : first.event };
  }

  /** Called when the reader stops. The execution goes on without it. */
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

/** SECURITY: a joined text is a rope, which this queue counts by its parts; whoever keeps it counts its length. */
function flattened(event: ExecutionEvent): ExecutionEvent {
  if (event.kind !== 'stdout' && event.kind !== 'stderr') return event;
  return { kind: event.kind, text: ownString(event.text) };
}

function costOf(event: ExecutionEvent): number {
  return PUSH_BYTES + (event.kind === 'stdout' || event.kind === 'stderr' ? 2 * event.text.length : memoryCost(event));
}
