import type { ServerResponse } from 'node:http';
import { DEFAULT_HEADERS } from './guards.ts';

export interface LineOptions {
  /** The timeout of a client that does not read although data is waiting; it is disconnected. */
  readonly stallMs: number;
  /** The keep-alive interval, so that proxies do not close an idle stream. */
  readonly aliveMs: number;
}

/** A response of JSON lines, written with backpressure: `send` waits for a slow reader. */
export interface LineSender {
  send(line: object): Promise<void>;
  end(): void;
}

export function sendLines(outgoing: ServerResponse, { stallMs, aliveMs }: LineOptions): LineSender {
  outgoing.writeHead(200, { ...DEFAULT_HEADERS, 'content-type': 'application/x-ndjson' });
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
