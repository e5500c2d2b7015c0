import type { Socket } from 'node:net';
import type { Config } from '../config/schema.ts';
import { anonymousOwner, type Owner, tokenOwner } from '../directory/owner.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { Exposure } from './exposure.ts';
import type { IsLocalCaller } from './local-callers.ts';
import type { TokenRecord, TokenStore } from './tokens/store.ts';

/** The settings by which the sender of a request is recognised. */
export interface Proofs {
  readonly exposure: Exposure;
  readonly tokens: TokenStore;
  readonly isLocalCaller: IsLocalCaller;
}

/** Authenticates a request by its `Authorization` header. An invalid token is refused even if none is required. */
export function createAuthorizer(
  config: Config,
  { exposure, tokens, isLocalCaller }: Proofs,
): (authorization: string | undefined, socket: Socket) => Promise<Owner> {
  return async (authorization, socket) => {
    if (authorization === undefined) {
      if (exposure.tokensRequired) throw unauthorized('a token is required');
      if (await isLocalCaller(socket)) return anonymousOwner(config);
      throw unauthorized('a token is required, because another user of this machine started the server');
    }
    const text = bearerToken(authorization);
    const token = text === undefined ? undefined : await tokens.verify(text);
    if (token === undefined) throw unauthorized('the token is not valid');
    return ownerOfToken(token, config);
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
  return token === undefined ? undefined : ownerOfToken(token, config);
}

function ownerOfToken({ id, quotas, network, services, mayInstall = false }: TokenRecord, config: Config): Owner {
  const grants = {
    ...(network === undefined ? {} : { network }),
    ...(services === undefined ? {} : { services }),
    mayInstall,
  };
  return tokenOwner(id, config, quotas, grants);
}

function unauthorized(message: string): HotcellError {
  return new HotcellError('unauthorized', message, {
    remedy: 'Send `Authorization: Bearer <token>`; the operator of the server creates one with `hotcell token create`.',
  });
}
