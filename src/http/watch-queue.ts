import type { WatchLine } from './watch-lines.ts';

/** A line that is decoded when it is sent. */
export interface QueuedLine {
  readonly chars: number;
  make(): WatchLine;
}

/** Lines between the executions of a session and one client that watches them. */
export interface WatchQueue {
  push(line: QueuedLine): void;
  end(): void;
  /** The next line; undefined after the end. */
  next(): Promise<QueuedLine | undefined>;
}

/** What a line takes besides its text. SECURITY: bounds empty lines too. */
const LINE_CHARS = 200;

/**
 * Never makes an execution wait, unlike the readers of one execution: somebody who looks on from a stopped terminal must
 * not stop the agent. What does not fit is dropped, and a line says so.
 */
export function createWatchQueue(mostChars: number): WatchQueue {
  const lines: QueuedLine[] = [];
  let chars = 0;
  let hasDropped = false;
  let isEnded = false;
  let wake: (() => void) | undefined;

  const add = (line: QueuedLine) => {
    lines.push(line);
    chars += LINE_CHARS + line.chars;
  };

  return {
    push(line) {
      if (isEnded) return;
      if (chars + line.chars > mostChars) hasDropped = true;
      else {
        if (hasDropped) add({ chars: 0, make: () => ({ omitted: true }) });
        hasDropped = false;
        add(line);
      }
      wake?.();
    },
    end() {
      isEnded = true;
      wake?.();
    },
    async next() {
      while (lines.length === 0 && !isEnded) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const first = lines.shift();
      if (first === undefined) return undefined;
      chars -= LINE_CHARS + first.chars;
      return first;
    },
  };
}
