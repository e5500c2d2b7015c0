import { endToEnd, hostHeader, type ProxyRequest, withoutHeaders } from '../proxy-request.ts';
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
 * whole. An encoded reply cannot be searched for it. A cookie could be of another login. By the others a server takes the request for one of another client, or to
 * another path.
 */
const DROPPED = [
  ...['range', 'if-range', 'accept-encoding', 'authorization', 'cookie', 'forwarded', 'via'],
  ...['x-original-url', 'x-rewrite-url', 'x-original-uri', 'x-real-ip', 'x-client-ip', 'true-client-ip'],
];
const DROPPED_BEGINNING = 'x-forwarded-';

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
  // SECURITY: some servers (CGI, WSGI) read `_` in a name as `-`.
  const isDropped = (name: string) => dropped.has(name) || name.includes('_') || name.startsWith(DROPPED_BEGINNING);
  const kept = withoutHeaders(endToEnd(asked.rawHeaders), isDropped);
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

/** A path that is encoded more often than that is refused. */
const MOST_DECODINGS = 4;

/**
 * SECURITY: some servers drop `;` and what follows it (path parameters) before they resolve the path: `/..;/` leads up there. Behind some proxies a path is decoded
 * more than once: `%252e` and `%25%32%65` are a dot there. So the path is decoded until nothing changes.
 */
function hasDotSegment(path: string): boolean {
  let decoded = path;
  for (let round = 0; round < MOST_DECODINGS; round += 1) {
    if (decoded.split(/[/\\?#\0]/).some((part) => /^\.{1,2}(?:;.*)?$/.test(part))) return true;
    const once = decoded.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    if (once === decoded) return false;
    decoded = once;
  }
  return true;
}

function refused(why: string): CredentialRequest {
  return { kind: 'refused', why };
}
