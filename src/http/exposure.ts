import { isIP } from 'node:net';
import { HotcellError } from '../errors/hotcell-error.ts';

/** From where a server can be reached, and the consequences for each request. */
export interface Exposure {
  /** Whether every client needs a token. */
  readonly tokensRequired: boolean;
  /** Whether a request with this `Host` is meant for this server. */
  allowsHost(header: string | undefined): boolean;
  /** Whether a page of this origin may call the server. */
  allowsOrigin(origin: string | undefined, host: string | undefined): boolean;
}

export interface ExposureOptions {
  /** The address to listen on. */
  readonly host: string;
  /** Host names of the server besides its addresses: behind a proxy, in a local network. */
  readonly allowedHosts: readonly string[];
  readonly tokens: 'auto' | 'always';
}

/**
 * Decided before anything listens. Throws if other machines could connect and there is no token.
 *
 * SECURITY: a page in a browser can reach loopback, too, by a name of its own that resolves to 127.0.0.1 (DNS
 * rebinding). The browser sends that name as `Host`. So names must be on the list; addresses cannot be rebound.
 */
export function decideExposure(options: ExposureOptions, tokenCount: number): Exposure {
  const isLocal = isLoopback(options.host) && options.allowedHosts.length === 0;
  const tokensRequired = !isLocal || options.tokens === 'always';
  if (tokensRequired && tokenCount === 0) throw noTokens(options);
  const names = new Set(options.allowedHosts.map((name) => name.toLowerCase()));
  const allowsName = (name: string) =>
    isLoopback(name) || names.has(name) || (!isLoopback(options.host) && isIP(name) !== 0);
  return {
    tokensRequired,
    allowsHost: (header) => {
      const name = hostnameOf(header);
      return name !== undefined && allowsName(name);
    },
    allowsOrigin: (origin, host) => {
      if (origin === undefined) return true; // not from a page
      const url = httpOrigin(origin);
      if (url === undefined) return false;
      // A page of another program on this machine is foreign, whatever its port: only our own origin and configured
      // names are allowed.
      return url.host === host?.toLowerCase() || names.has(url.hostname);
    },
  };
}

export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}

/**
 * The host name without its port: `example.com`, `127.0.0.1` or `::1` of `example.com:80`, `127.0.0.1` or `[::1]:80`.
 */
function hostnameOf(header: string | undefined): string | undefined {
  const match = header?.toLowerCase().match(/^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/);
  return match?.[1] ?? match?.[2];
}

function httpOrigin(origin: string): URL | undefined {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined;
}

function noTokens({ host, allowedHosts }: ExposureOptions): HotcellError {
  const reached = allowedHosts.length === 0 ? `on ${host}` : `as ${allowedHosts.join(', ')}`;
  const why =
    isLoopback(host) && allowedHosts.length === 0 ? 'tokens are required' : `other machines could reach it ${reached}`;
  return new HotcellError('invalid_argument', `not started: ${why}, and there is no token`, {
    remedy: 'Create one with `hotcell token create <name>`, or listen on 127.0.0.1.',
  });
}
