import { createHmac, randomBytes } from 'node:crypto';
import { bearerToken } from './authorize.ts';

/**
 * The owners of tokens that were valid when they were last used. It decides whom a request counts for while it waits
 * for its turn, and never whether it is authorised. SECURITY: a tenant that opens each connection from another address
 * would otherwise have as many turns as addresses, and a tenant's new connection would wait among strangers.
 */
export interface KnownTokens {
  /** `owner`: undefined if the header was refused. */
  note(authorization: string, owner: string | undefined): void;
  ownerOf(authorization: string | undefined): string | undefined;
}

const MOST = 4_096;
/** Longer headers are not hashed: no token is as long. */
const MOST_CHARS = 256;

export function createKnownTokens(most = MOST): KnownTokens {
  /** Least recently noted first. SECURITY: by a keyed hash, so that the memory of the process has no list of tokens. */
  const owners = new Map<string, string>();
  const key = randomBytes(32);
  // SECURITY: by the token, not by the header: one token has thousands of spellings, which would displace all others.
  const digest = (authorization: string) =>
    createHmac('sha256', key)
      .update(bearerToken(authorization) ?? '')
      .digest('base64');

  return {
    note(authorization, owner) {
      if (authorization.length > MOST_CHARS) return;
      const hashed = digest(authorization);
      owners.delete(hashed);
      if (owner === undefined) return;
      owners.set(hashed, owner);
      if (owners.size > most) owners.delete(owners.keys().next().value!);
    },
    ownerOf(authorization) {
      if (authorization === undefined || authorization.length > MOST_CHARS || owners.size === 0) return undefined;
      return owners.get(digest(authorization));
    },
  };
}
