import { endToEnd, hostHeader, type ProxyRequest } from '../proxy-request.ts';
import type { Credential } from './upstream.ts';

/** A request of a client to `/<name>/…`, as Node's parser read it. */
export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
}

/** The name of the credential and the rest of the path, or undefined if the path has no name. */
export function splitName(url: string): { name: string; rest: string } | undefined {
  const [, name, rest = ''] = /^\/([a-z][a-z0-9-]{0,39})((?:[/?].*)?)$/.exec(url) ?? [];
  return name === undefined ? undefined : { name, rest };
}

/**
 * Headers that are not passed on besides those between neighbours. SECURITY: of a range, a server sends so little at a time that a secret in it is never seen
 * whole. An encoded reply cannot be searched for it.
 */
const DROPPED = new Set(['range', 'if-range', 'accept-encoding', 'authorization', 'forwarded']);

/** Headers by which some servers take a GET for another method. */
const OTHER_METHODS = ['x-http-method-override', 'x-http-method', 'x-method-override'];

export type CredentialRequest =
  | { readonly kind: 'request'; readonly request: ProxyRequest }
  | { readonly kind: 'refused'; readonly why: string };

/** The request with the secret added, for the credential's server and no other. */
export function withSecret(asked: Asked, rest: string, credential: Credential, secret: string): CredentialRequest {
  // SECURITY: TRACE is an echo of the request.
  if (asked.method === 'TRACE' || asked.method === 'CONNECT') return refused(`${asked.method} is not supported here.`);
  if (credential.readOnly && asked.method !== 'GET' && asked.method !== 'HEAD')
    return refused(`${asked.method} is not supported here: this service can only be read.`);
  // SECURITY: some servers drop `#` and what follows it, so that a segment would end before it.
  if (rest.includes('#')) return refused('A path with # is not supported here.');
  const base = new URL(credential.url);
  const [path = '', ...query] = rest.split('?');
  const prefix = base.pathname.replace(/\/$/, '');
  // SECURITY: the secret may be meant for this part of the server only.
  if (prefix !== '' && hasDotSegment(path)) return refused('A path with .. or . is not supported here.');
  const dropped = new Set([
    ...[...DROPPED, credential.header.toLowerCase()],
    ...(credential.readOnly ? OTHER_METHODS : []),
  ]);
  const kept = endToEnd(asked.rawHeaders)
    .map((_, at, all) => (at % 2 === 0 ? [all[at]!, all[at + 1]!] : []))
    .filter(([name]) => name !== undefined && !dropped.has(name.toLowerCase()))
    .flat();
  const target = targetOf(credential);
  const own = ['Host', hostOf(base), 'Accept-Encoding', 'identity', credential.header, headerValue(credential, secret)];
  return {
    kind: 'request',
    request: {
      target: { ...target, isAddress: false },
      path: `${prefix}${path === '' ? '/' : path}${query.length === 0 ? '' : `?${query.join('?')}`}`,
      headers: [...own, ...kept],
    },
  };
}

export function targetOf({ url }: Pick<Credential, 'url'>): { host: string; port: number } {
  const { hostname, port, protocol } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (protocol === 'https:' ? 443 : 80) };
}

/** The location of a redirect as the client can follow it with the secret: only if it stays on the credential's server. */
export function locationFor(location: string, name: string, credential: Credential): string {
  const base = new URL(credential.url);
  if (!URL.canParse(location, base.href)) return location;
  const target = new URL(location, base);
  const prefix = base.pathname.replace(/\/$/, '');
  const isBelow = target.pathname === prefix || target.pathname.startsWith(`${prefix}/`);
  if (target.origin !== base.origin || !isBelow) return location;
  return `/${name}${target.pathname.slice(prefix.length)}${target.search}${target.hash}`;
}

function hostOf(base: URL): string {
  return base.protocol === 'https:' ? base.host : hostHeader(targetOf({ url: base.href }));
}

function headerValue({ scheme, user }: Credential, secret: string): string {
  if (scheme === 'none') return secret;
  return scheme === 'Bearer' ? `Bearer ${secret}` : `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;
}

/**
 * SECURITY: some servers drop `;` and what follows it (path parameters) before they resolve the path: `/..;/` leads up there. Behind some proxies a path is decoded
 * twice: `%252e` is a dot there.
 */
function hasDotSegment(path: string): boolean {
  const once = path.replace(/%(?:25)+/g, '%');
  return once.split(/[/\\]|%2f|%5c/i).some((part) => /^(?:\.|%2e){1,2}(?:(?:;|%3b).*)?$/i.test(part));
}

function refused(why: string): CredentialRequest {
  return { kind: 'refused', why };
}
