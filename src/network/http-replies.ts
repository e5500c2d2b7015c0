import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { FailureReason, Refusal } from './contract.ts';
import { hostAndPort } from './host-name.ts';

/** The answer to a request that is not allowed. */
export function sayRefused(outgoing: ServerResponse, { host, port, why }: Refusal): void {
  const status = why === 'bad-request' || why === 'bad-host' ? 400 : 403;
  say(outgoing, status, `The network policy of this session refuses ${hostAndPort({ host, port })}: ${why}.`);
}

/** The answer to one whose server cannot be reached. */
export function sayFailed(outgoing: ServerResponse, failure: FailureReason): void {
  say(outgoing, failure === 'timed-out' ? 504 : 502, `No connection to the server: ${failure}.`);
}

/** The connection is closed behind it: a body that nobody reads may still be on its way. */
export function say(outgoing: ServerResponse, status: number, text: string): void {
  // A response that has begun is cut off, and the client must see that.
  if (outgoing.headersSent || outgoing.destroyed) return void outgoing.destroy();
  for (const name of outgoing.getHeaderNames()) outgoing.removeHeader(name);
  outgoing.writeHead(status, STATUS_CODES[status], { 'content-type': 'text/plain', connection: 'close' });
  outgoing.end(`${text}\n`);
}
