import type { Duplex } from 'node:stream';
import type { OpenConnection, Opening, Refusal } from '../../network/contract.ts';
import { failureSentence, refusalSentence } from '../../network/sentences.ts';
import { CallError } from '../method.ts';

/** The connection of an opening. Throws the error of one that was refused, or failed. */
export function opened(opening: Opening): OpenConnection {
  if (opening.kind === 'open') return opening.connection;
  if (opening.kind === 'refused') throw refusalError(opening.refusal);
  throw new CallError(opening.failure, failureSentence(opening.failure));
}

/**
 * Carries the client's bytes to the end of the connection. SECURITY: only a call that fails makes the guest reset the
 * program's connection, so that a cut-off reply does not look complete.
 */
export async function carried(connection: OpenConnection, client: Duplex): Promise<void> {
  const end = await connection.carry(client);
  if (end.kind === 'refused') throw refusalError(end.refusal);
  if (end.kind !== 'ended') throw new CallError(end.kind, 'the connection was cut off');
}

function refusalError(refusal: Refusal): CallError {
  const isMany = refusal.why === 'too-many-connections' || refusal.why === 'too-many-new-connections';
  return new CallError(isMany ? 'too-many' : 'refused', refusalSentence(refusal));
}
