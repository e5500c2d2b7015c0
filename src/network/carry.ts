import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../lib/clock.ts';
import { deferred } from '../lib/deferred.ts';
import { isTaker } from '../lib/taker.ts';
import type { ConnectionEnd, RefusalReason } from './contract.ts';
import { readUntilJudged } from './first-bytes.ts';
import type { Verdict } from './first-bytes-check.ts';
import { createIdleTimer } from './idle.ts';
import { ServerSocket } from './server-socket.ts';
import type { Direction } from './usage.ts';

export interface Carriage {
  readonly client: Duplex;
  readonly server: Duplex;
  /** Judges the client's first bytes; nothing is sent to the server before they pass. */
  judge(bytes: Buffer, isAll: boolean): Verdict;
  /** The server's bytes wait for the verdict too. If false they are passed on at once, for servers that speak first. */
  readonly holdServer: boolean;
  /** Counts bytes before they are passed on. False if they exceed a limit. */
  count(direction: Direction, bytes: number): boolean;
  readonly idleMs: number;
  readonly clock: Clock;
}

export type CarriageEnd =
  | Exclude<ConnectionEnd, { kind: 'refused' }>
  | { readonly kind: 'refused'; readonly why: RefusalReason; readonly saw?: string };

/**
 * Copies bytes between client and server until both directions have ended, one of them breaks, or nothing moved for the idle time. Each direction ends on its own
 * (half-close: both streams must be half-open), and a slow reader pauses the other side. Both streams are destroyed when this resolves. `stop` ends it at once.
 */
export function carry(carriage: Carriage): { readonly ended: Promise<CarriageEnd>; stop(end: CarriageEnd): void } {
  const { client, server } = carriage;
  const over = deferred<CarriageEnd>();
  const idle = createIdleTimer(carriage, () => stop({ kind: 'idle' }));
  let isOver = false;

  function stop(end: CarriageEnd): void {
    if (isOver) return;
    isOver = true;
    idle.cancel();
    for (const stream of [client, server]) destroy(stream, end);
    over.resolve(end);
  }

  const ended = { sent: false, received: false };
  function end(direction: Direction): void {
    ended[direction] = true;
    if (ended.sent && ended.received) stop({ kind: 'ended' });
  }

  /** Passes chunks on in one direction, those that were read already first, and the end of the stream. */
  function copy(direction: Direction, first?: Buffer): void {
    const [from, to] = direction === 'sent' ? [client, server] : [server, client];
    const resume = () => {
      idle.moved();
      from.resume();
    };
    const isCounted = (chunk: Buffer) => {
      idle.moved();
      if (isOver || ended[direction]) return false;
      if (carriage.count(direction, chunk.length)) return true;
      stop({ kind: 'refused', why: 'too-many-bytes' });
      return false;
    };
    /** Returns whether to read on. */
    const write = (chunk: Buffer) => {
      if (to.write(chunk)) return true;
      to.once('drain', resume);
      return false;
    };
    const pass = (chunk: Buffer) => {
      if (isCounted(chunk) && !write(chunk)) from.pause();
    };
    /** For bytes of a buffer that is used again: they are copied into a frame at once, or else into memory of their own. */
    const passCopy = (chunk: Buffer) => {
      if (!isCounted(chunk)) return true;
      if (!isTaker(to) || !to.takeNow(chunk)) return write(Buffer.from(chunk));
      const ready = to.untilReady();
      void ready?.then(resume);
      return ready === undefined;
    };
    if (from instanceof ServerSocket) from.passTo(passCopy);
    else from.on('data', pass);
    from.resume();
    if (first !== undefined && first.length > 0) pass(first);
    if (from.readableEnded) to.end(() => end(direction));
    else from.once('end', () => to.end(() => end(direction)));
  }

  function watch(stream: Duplex, by: 'client' | 'server'): void {
    const broken = () => {
      // A server that has sent everything may refuse the rest of a request: what it sent still reaches the client.
      if (by === 'server' && server.readableEnded && !ended.received) {
        client.resume();
        end('sent');
      } else stop({ kind: 'broken', by });
    };
    stream.on('error', broken);
    stream.once('close', () => {
      if (!isOver && !(stream.readableEnded && stream.writableFinished)) broken();
    });
    if (stream.destroyed) broken();
  }

  watch(client, 'client');
  watch(server, 'server');
  if (!carriage.holdServer) copy('received');
  readUntilJudged(client, {
    judge: carriage.judge,
    moved: idle.moved,
    refuse: (refusal) => stop(refusal),
    pass: (first) => {
      if (isOver) return;
      if (carriage.holdServer) copy('received');
      copy('sent', first);
    },
  });
  return { ended: over.promise, stop };
}

/** SECURITY: a connection that did not end is reset where it can be, so that a cut-off message does not look complete to the peer. */
function destroy(stream: Duplex, { kind }: CarriageEnd): void {
  if (kind !== 'ended' && stream instanceof Socket) stream.resetAndDestroy();
  else stream.destroy();
}
