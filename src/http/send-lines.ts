import type { ServerResponse } from 'node:http';
import { DEFAULT_HEADERS } from './guards.ts';
import type { EndTurn } from './turns.ts';

export interface LineOptions {
  /** The timeout of a client that does not read although data is waiting; it is disconnected. */
  readonly stallMs: number;
  /** The keep-alive interval, so that proxies do not close an idle stream. */
  readonly aliveMs: number;
  /** Waits for a turn of the client's owner, to encode so many characters. Rejects when the client leaves. */
  readonly nextTurn: (chars: number) => Promise<EndTurn>;
  /** Whether the owner's clients may leave more responses unread. SECURITY: otherwise the client is disconnected. */
  readonly mayWait: () => boolean;
}

/** A response of JSON lines, written with backpressure: `send` waits for a slow reader. */
export interface LineSender {
  /**
   * Makes and writes a line of about so many characters. SECURITY: within a turn of the owner, whatever is in it: a
   * program prints and displays as fast as its readers read, and a tenant can attach many.
   */
  send(chars: number, make: () => object): Promise<void>;
  end(): void;
}

export function sendLines(outgoing: ServerResponse, { stallMs, aliveMs, nextTurn, mayWait }: LineOptions): LineSender {
  outgoing.writeHead(200, { ...DEFAULT_HEADERS, 'content-type': 'application/x-ndjson' });
  const alive = setInterval(() => outgoing.writableNeedDrain || outgoing.write('{}\n'), aliveMs);
  outgoing.once('close', () => clearInterval(alive));
  return {
    async send(chars, make) {
      const endTurn = await nextTurn(chars).catch(() => undefined);
      if (endTurn === undefined) return; // the client has left
      if (!mayWait()) outgoing.destroy();
      const isTaken = outgoing.destroyed || outgoing.write(`${JSON.stringify(make())}\n`);
      endTurn();
      if (!isTaken) await taken(outgoing, stallMs);
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
