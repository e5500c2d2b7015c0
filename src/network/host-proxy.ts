import ipaddr from 'ipaddr.js';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { Target, Via } from './contract.ts';
import { parseHost, splitPort } from './host-name.ts';

/** A proxy that the host itself uses. SECURITY: `authorization` is a secret of the host: it is sent to the proxy, and is in no error, event or log. */
export interface ProxyServer {
  readonly host: string;
  readonly port: number;
  /** TLS to the proxy itself (`https://proxy`). */
  readonly secure: boolean;
  readonly authorization?: string;
}

/** The proxies of the host, from the variables that curl and others read: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`; the lower-case one counts first. */
export interface HostProxy {
  /** The proxy for a connection to a target, or undefined if it is made directly. */
  proxyFor(target: Target, via: Via): ProxyServer | undefined;
}

export const NO_PROXY: HostProxy = { proxyFor: () => undefined };

/** Throws `invalid_argument`, which names the variable and never its value, if one is not the URL of an HTTP proxy. */
export function readHostProxy(environment: Readonly<Record<string, string | undefined>>): HostProxy {
  const proxies: Record<Via, ProxyServer | undefined> = {
    tunnel: readProxy(environment, ['HTTPS_PROXY', 'ALL_PROXY']),
    http: readProxy(environment, ['HTTP_PROXY', 'ALL_PROXY']),
  };
  const exempt = (variable(environment, 'NO_PROXY') ?? '').split(/[\s,]/).filter((entry) => entry !== '');
  return {
    proxyFor: (target, via) => (exempt.some((entry) => isExempt(entry, target)) ? undefined : proxies[via]),
  };
}

function variable(environment: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  return [environment[name.toLowerCase()], environment[name]].find((value) => value !== undefined && value !== '');
}

function readProxy(
  environment: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): ProxyServer | undefined {
  const name = names.find((one) => variable(environment, one) !== undefined);
  if (name === undefined) return undefined;
  const text = variable(environment, name)!;
  const url = parseUrl(text.includes('://') ? text : `http://${text}`);
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new HotcellError('invalid_argument', `${name} is not the URL of an HTTP proxy`, {
      remedy: `Set ${name} to http://host:port or https://host:port, or unset it.`,
    });
  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port, secure, ...authorizationOf(url) };
}

function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

function authorizationOf({ username, password }: URL): { authorization?: string } {
  if (username === '' && password === '') return {};
  const pair = `${decoded(username)}:${decoded(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `*`, `host` and `.host` with all below, `host:port`, an address, or a network as `10.0.0.0/8`. */
function isExempt(entry: string, { host, port, isAddress }: Target): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return isAddress && isInNetwork(host, entry);
  const split = splitPort(entry.replace(/^\*?\./, ''));
  const exempt = split === undefined ? undefined : parseHost(split.host)?.host;
  if (exempt === undefined || (split?.port !== undefined && split.port !== port)) return false;
  return host === exempt || (!isAddress && host.endsWith(`.${exempt}`));
}

function isInNetwork(host: string, network: string): boolean {
  if (!ipaddr.isValidCIDR(network)) return false;
  const [address, range] = [ipaddr.parse(host), ipaddr.parseCIDR(network)];
  return address.kind() === range[0].kind() && address.match(range);
}
