import { isIP } from 'node:net';
import { HotcellError } from '../errors/hotcell-error.ts';

/** How far a server can be reached, and what follows from it for each request. */
export interface Exposure {
  /** Whether everybody must prove who they are. */
  readonly tokensRequired: boolean;
  /** Whether a request with this `Host` was meant for this server. */
  allowsHost(header: string | undefined): boolean;
  /** Whether a page of this origin may call it. */
  allowsOrigin(origin: string | undefined, host: string | undefined): boolean;
}

export interface ExposureOptions {
  /** The address to listen on. */
  readonly host: string;
  /** Names under which it is reached besides its addresses: behind a proxy, in a local network. */
  readonly allowedHosts: readonly string[];
  readonly tokens: 'auto' | 'always';
}

/**
 * Decides before anything listens. Throws where others than this machine could come in without a token, because nobody has one.
 *
 * SECURITY: a page in a browser reaches loopback too, by a name of its own that it lets resolve to 127.0.0.1 (DNS rebinding). The browser then
 * sends that name as `Host`. So names must be known; addresses cannot be rebound and need not be.
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
      // A page of another program on this machine is another's, whatever its port: only our own, and those of names that were given.
      return url.host === host?.toLowerCase() || names.has(url.hostname);
    },
  };
}

export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}

/** `example.com`, `127.0.0.1` or `::1` of `example.com:80`, `127.0.0.1` or `[::1]:80`. */
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
    isLoopback(host) && allowedHosts.length === 0 ? 'tokens are asked for' : `others could reach it ${reached}`;
  return new HotcellError('invalid_argument', `not started: ${why}, and there is no token`, {
    remedy: 'Make one with `hotcell token create <name>`, or listen on 127.0.0.1.',
  });
}
