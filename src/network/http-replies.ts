import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { FailureReason, Refusal } from './contract.ts';
import { failureSentence, refusalSentence } from './sentences.ts';

/** The answer to a request that is not allowed. */
export function sayRefused(outgoing: ServerResponse, refusal: Refusal): void {
  const isBad = refusal.why === 'bad-request' || refusal.why === 'bad-host';
  say(outgoing, isBad ? 400 : 403, refusalSentence(refusal));
}

/** The answer to one whose server cannot be reached. */
export function sayFailed(outgoing: ServerResponse, failure: FailureReason): void {
  say(outgoing, failure === 'timed-out' ? 504 : 502, failureSentence(failure));
}

/** Sends a response and closes the connection behind it: an unread body may still be on its way. */
export function say(outgoing: ServerResponse, status: number, text: string): void {
  // A response that has begun is cut off, and the client must see that.
  if (outgoing.headersSent || outgoing.destroyed) return void outgoing.destroy();
  for (const name of outgoing.getHeaderNames()) outgoing.removeHeader(name);
  outgoing.writeHead(status, STATUS_CODES[status], { 'content-type': 'text/plain', connection: 'close' });
  outgoing.end(`${text}\n`);
}
