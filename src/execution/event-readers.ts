import { EventQueue, type ExecutionEvent } from './events.ts';

/** The readers of one execution's events. Each sees the events since it began; the slowest applies backpressure. */
export class EventReaders {
  #queues: readonly EventQueue[] = [];
  #waits = true;
  #end: { readonly failure: unknown } | undefined;

  open(): EventQueue {
    const queue = new EventQueue();
    if (!this.#waits) queue.stopWaiting();
    if (this.#end === undefined) this.#queues = [...this.#queues, queue];
    else queue.end(this.#end.failure);
    return queue;
  }

  isListening(): boolean {
    return this.#queues.length > 0;
  }

  /** Returns a promise while a reader is behind: the writer waits for it. */
  push(event: ExecutionEvent): void | Promise<void> {
    if (this.#queues.length === 0) return;
    if (this.#queues.some((queue) => !queue.isOpen)) this.#queues = this.#queues.filter((queue) => queue.isOpen);
    const pushed = this.#queues.map((queue) => queue.push(event)).filter((wait) => wait !== undefined);
    if (pushed.length > 0) return Promise.all(pushed).then(() => {});
  }

  stopWaiting(): void {
    this.#waits = false;
    for (const queue of this.#queues) queue.stopWaiting();
  }

  end(failure?: unknown): void {
    this.#end = { failure };
    for (const queue of this.#queues) queue.end(failure);
    this.#queues = [];
  }
}
