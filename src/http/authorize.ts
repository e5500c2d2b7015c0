import type { Config } from '../config/schema.ts';
import { anonymousOwner, type Owner, tokenOwner } from '../directory/owner.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { Exposure } from './exposure.ts';
import type { TokenStore } from './tokens/store.ts';

/** Authenticates a request by its `Authorization` header. An invalid token is refused even if none is required. */
export function createAuthorizer(
  config: Config,
  exposure: Exposure,
  tokens: TokenStore,
): (authorization: string | undefined) => Promise<Owner> {
  return async (authorization) => {
    if (authorization === undefined) {
      if (!exposure.tokensRequired) return anonymousOwner(config);
      throw unauthorized('a token is required');
    }
    const text = bearerToken(authorization);
    const token = text === undefined ? undefined : await tokens.verify(text);
    if (token === undefined) throw unauthorized('the token is not valid');
    return tokenOwner(token.id, config, token.quotas);
  };
}

/** The token in an `Authorization` header, however the scheme is written. */
export function bearerToken(authorization: string): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization)?.[1];
}

/** The owner of a link, if it is still authorised: a link ends with the token of its owner. */
export async function ownerOfLink(id: string, config: Config, tokens: TokenStore): Promise<Owner | undefined> {
  if (id === 'local' || id === 'anonymous') return { ...anonymousOwner(config), id };
  const token = await tokens.find(id);
  return token === undefined ? undefined : tokenOwner(id, config, token.quotas);
}

function unauthorized(message: string): HotcellError {
  return new HotcellError('unauthorized', message, {
    remedy: 'Send `Authorization: Bearer <token>`; the operator of the server creates one with `hotcell token create`.',
  });
}
