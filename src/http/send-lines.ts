import type { ServerResponse } from 'node:http';
import { DEFAULT_HEADERS } from './guards.ts';

export interface LineOptions {
  /** The timeout of a client that does not read although data is waiting; it is disconnected. */
  readonly stallMs: number;
  /** The keep-alive interval, so that proxies do not close an idle stream. */
  readonly aliveMs: number;
  /** Waits for a turn of the client's owner, to encode so many characters. Rejects when the client leaves. */
  readonly nextTurn: (chars: number) => Promise<() => void>;
}

/**
 * SECURITY: a program prints as fast as its readers read, and a tenant can attach many. Lines longer than this are encoded within the owner's turns, so that
 * others' calls come in between.
 */
const SMALL_CHARS = 4_096;

/** A response of JSON lines, written with backpressure: `send` waits for a slow reader. */
export interface LineSender {
  send(line: object): Promise<void>;
  end(): void;
}

export function sendLines(outgoing: ServerResponse, { stallMs, aliveMs, nextTurn }: LineOptions): LineSender {
  outgoing.writeHead(200, { ...DEFAULT_HEADERS, 'content-type': 'application/x-ndjson' });
  const alive = setInterval(() => outgoing.writableNeedDrain || outgoing.write('{}\n'), aliveMs);
  outgoing.once('close', () => clearInterval(alive));
  return {
    async send(line) {
      const chars = charsOf(line);
      const endTurn = chars > SMALL_CHARS ? await nextTurn(chars).catch(() => undefined) : undefined;
      const isTaken = outgoing.destroyed || outgoing.write(`${JSON.stringify(line)}\n`);
      endTurn?.();
      if (!isTaken) await taken(outgoing, stallMs);
    },
    end: () => {
      clearInterval(alive);
      outgoing.end();
    },
  };
}

function charsOf(line: object): number {
  return Object.values(line).reduce((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
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
