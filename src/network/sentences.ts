import type { FailureReason, Refusal } from './contract.ts';
import { hostAndPort } from './host-name.ts';

/** The sentence that a client gets for a connection that is not allowed. */
export function refusalSentence({ host, port, why }: Pick<Refusal, 'host' | 'port' | 'why'>): string {
  return `The network policy of this session refuses ${hostAndPort({ host, port })}: ${why}.`;
}

/** The sentence for a server that cannot be reached. */
export function failureSentence(failure: FailureReason): string {
  return `No connection to the server: ${failure}.`;
}
