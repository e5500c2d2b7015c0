import type { ServerResponse } from 'node:http';
import { QUIET } from './guards.ts';

export interface LineOptions {
  /** A reader that takes nothing for so long, although there is something to take, is let go. */
  readonly stallMs: number;
  /** An empty line goes out so often, for whoever stands between and takes silence for death. */
  readonly aliveMs: number;
}

/** An answer in lines of JSON, written as fast as the reader takes them: what is ahead of it waits where it was made. */
export interface LineSender {
  send(line: object): Promise<void>;
  end(): void;
}

export function sendLines(outgoing: ServerResponse, { stallMs, aliveMs }: LineOptions): LineSender {
  outgoing.writeHead(200, { ...QUIET, 'content-type': 'application/x-ndjson' });
  const alive = setInterval(() => outgoing.writableNeedDrain || outgoing.write('{}\n'), aliveMs);
  outgoing.once('close', () => clearInterval(alive));
  return {
    async send(line) {
      if (outgoing.destroyed || outgoing.write(`${JSON.stringify(line)}\n`)) return;
      await taken(outgoing, stallMs);
    },
    end: () => {
      clearInterval(alive);
      outgoing.end();
    },
  };
}

function taken(outgoing: ServerResponse, stallMs: number): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => outgoing.destroy(), stallMs);
    const done = () => {
      clearTimeout(late);
      outgoing.off('drain', done).off('close', done);
      resolve();
    };
    outgoing.once('drain', done).once('close', done);
  });
}
