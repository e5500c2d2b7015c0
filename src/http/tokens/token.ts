import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** A token as its holder has it: `hotcell_<id>_<secret>`. The id identifies it, the secret authenticates it. */
export interface Token {
  readonly id: string;
  readonly text: string;
}

const TOKEN = /^hotcell_([0-9a-f]{20})_([A-Za-z0-9_-]{43})$/;

export function newToken(): Token {
  const id = randomBytes(10).toString('hex');
  return { id: `t-${id}`, text: `hotcell_${id}_${randomBytes(32).toString('base64url')}` };
}

/** The id in a token, or undefined if the text is not a token. It is not verified. */
export function claimedId(text: string): string | undefined {
  const id = TOKEN.exec(text)?.[1];
  return id === undefined ? undefined : `t-${id}`;
}

export function isTokenId(id: string): boolean {
  return /^t-[0-9a-f]{20}$/.test(id);
}

/**
 * The stored hash of a token. SECURITY: one round of SHA-256 is enough, because the secret is 256 random bits and not a
 * password: there is no dictionary to try. The installation's id is part of it, so that a stored hash is useless
 * elsewhere.
 */
export function hashOf(text: string, installationId: string): string {
  return createHash('sha256').update(`${installationId}\n${text}`).digest('base64url');
}

/** Compares in constant time. */
export function matches(text: string, installationId: string, stored: string): boolean {
  const [left, right] = [Buffer.from(hashOf(text, installationId)), Buffer.from(stored)];
  return left.length === right.length && timingSafeEqual(left, right);
}
