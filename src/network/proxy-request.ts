import type { Target } from './contract.ts';
import { hostAndPort, parseTarget, shownHost, splitPort } from './host-name.ts';

/** One request of a plain HTTP proxy, checked: where it goes, and what is sent there. */
export interface ProxyRequest {
  readonly target: Target;
  /** The path and query, as the client wrote them. */
  readonly path: string;
  /** Name and value in turn, without those that are between the client and us. `Host` is ours. */
  readonly headers: readonly string[];
}

export type ParsedRequest =
  | { readonly kind: 'request'; readonly request: ProxyRequest }
  | {
      readonly kind: 'refused';
      readonly host: string;
      readonly port: number;
      readonly why: 'bad-request' | 'bad-host' | 'other-server-name';
      readonly saw?: string;
    };

const HTTP_PORT = 80;

/** RFC 9110, 7.6.1, and those that are for a proxy. `Expect` is answered here already. */
const HOP_BY_HOP = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'proxy-authenticate', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect', 'http2-settings'],
]);

/**
 * Checks a request in absolute form (`GET http://host[:port]/path`), as Node's parser read it. `rawHeaders` has name and value in turn. Of a client that is
 * connected to a target, the request may be in origin form (`GET /path`), and goes nowhere else.
 */
export function parseProxyRequest(
  { url, rawHeaders }: { url: string; rawHeaders: readonly string[] },
  connected?: Target,
): ParsedRequest {
  const whole = connected !== undefined && url.startsWith('/') ? `http://${hostAndPort(connected)}${url}` : url;
  const [, authority = '', rest = ''] = /^http:\/\/([^/?#]*)([^#]*)/i.exec(whole) ?? [];
  const split = splitPort(authority);
  const requested = { host: split?.host ?? authority, port: split?.port ?? HTTP_PORT };
  if (authority === '' || split === undefined) return { kind: 'refused', ...requested, why: 'bad-request' };
  const target = parseTarget(requested);
  if (target === undefined) return { kind: 'refused', ...requested, why: 'bad-host' };
  if (connected !== undefined && (target.host !== connected.host || target.port !== connected.port))
    return {
      kind: 'refused',
      host: connected.host,
      port: connected.port,
      why: 'other-server-name',
      saw: shownHost(target.host),
    };
  // SECURITY: a server with several hosts chooses by Host, and by which of two is up to it.
  const hosts = valuesOf(rawHeaders, 'host');
  if (hosts.length !== 1) return { kind: 'refused', host: target.host, port: target.port, why: 'bad-request' };
  if (!isSame(hosts[0]!, target))
    return {
      kind: 'refused',
      host: target.host,
      port: target.port,
      why: 'other-server-name',
      saw: shownHost(hosts[0]!),
    };
  const path = rest.startsWith('/') ? rest : `/${rest}`;
  return { kind: 'request', request: { target, path, headers: ['Host', hostHeader(target), ...endToEnd(rawHeaders)] } };
}

/** Headers that go on, in their order and spelling: not those between two neighbours, nor those that `Connection` names. */
export function endToEnd(rawHeaders: readonly string[]): string[] {
  const named = valuesOf(rawHeaders, 'connection').flatMap((value) =>
    value.split(',').map((name) => name.trim().toLowerCase()),
  );
  const dropped = new Set([...HOP_BY_HOP, 'host', ...named.filter((name) => name !== 'content-length')]);
  return withoutHeaders(rawHeaders, (name) => dropped.has(name));
}

/** Name and value in turn, without the headers whose name in lower case `isDropped`. */
export function withoutHeaders(rawHeaders: readonly string[], isDropped: (name: string) => boolean): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at]!, rawHeaders[at + 1]!];
    if (!isDropped(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

export function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const own = rawHeaders[at]!;
    if (own.length === name.length && own.toLowerCase() === name) values.push(rawHeaders[at + 1]!);
  }
  return values;
}

export function hostHeader(target: Pick<Target, 'host' | 'port'>): string {
  const whole = hostAndPort(target);
  return target.port === HTTP_PORT ? whole.slice(0, whole.lastIndexOf(':')) : whole;
}

function isSame(header: string, target: Target): boolean {
  const split = splitPort(header);
  const named = split === undefined ? undefined : parseTarget({ host: split.host, port: split.port ?? HTTP_PORT });
  return named?.host === target.host && named.port === target.port;
}
