import type { Duplex } from 'node:stream';
import { createGatheredBytes } from '../lib/gathered-bytes.ts';
import type { Verdict } from './first-bytes-check.ts';

export interface FirstBytesHandlers {
  judge(bytes: Buffer, isAll: boolean): Verdict;
  moved(): void;
  refuse(verdict: Verdict & { kind: 'refused' }): void;
  /** Called with the bytes when they have passed. The stream is paused, or has ended. */
  pass(bytes: Buffer): void;
}

/**
 * Reads the client's first bytes until they are judged. Bounded: a judge asks for more only up to its limit, and is asked again only when
 * there are as many as it needs.
 */
export function readUntilJudged(client: Duplex, handlers: FirstBytesHandlers): void {
  const gathered = createGatheredBytes();
  let needed = 1;

  function judge(isAll: boolean): void {
    const bytes = Buffer.concat(gathered.take());
    const verdict = handlers.judge(bytes, isAll);
    if (verdict.kind === 'need-more') {
      gathered.push(bytes);
      needed = verdict.totalBytes;
      return;
    }
    client.off('data', onData).off('end', onEnd);
    if (verdict.kind === 'refused') return handlers.refuse(verdict);
    client.pause();
    handlers.pass(bytes);
  }

  function onData(chunk: Buffer): void {
    handlers.moved();
    gathered.push(chunk);
    if (gathered.length() >= needed) judge(false);
  }

  function onEnd(): void {
    judge(true);
  }

  client.on('data', onData).on('end', onEnd);
}
