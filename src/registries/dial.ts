import { lookup } from 'node:dns/promises';
import { isIP, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { unlessAborted } from '../lib/abort.ts';
import { addressKind } from '../network/addresses.ts';
import { connectFirst } from '../network/connect-first.ts';
import type { Target } from '../network/contract.ts';
import { parseTarget } from '../network/host-name.ts';
import type { HostProxy } from '../network/host-proxy.ts';
import { LOCAL_NAMES } from '../network/open-socket.ts';
import { createOwnAddresses } from '../network/own-addresses.ts';
import { dialProxy, openTunnel, proxyAuthorization } from '../network/proxy-tunnel.ts';

/** The ways of this host to a registry: those of its installers. */
export interface Reaching {
  readonly proxy: HostProxy;
  readonly trust: SecureContext;
  /** Hosts, or `host:port`, whose certificates are not checked. */
  readonly insecureHosts: readonly string[];
}

export interface Dialling {
  readonly reaching: Reaching;
  readonly signal: AbortSignal;
  /** Whether addresses of the host's own network are allowed. */
  readonly mayBePrivate: boolean;
}

export interface Dialled {
  readonly socket: Duplex;
  /** Whether the request names the whole address, as proxies of plain HTTP expect. */
  readonly absolute: boolean;
  readonly extra: Record<string, string>;
  /** Whether it leads to an address of the host's own network. */
  readonly isPrivate: boolean;
}

/** Connects to the server of an address, through the host's proxy if it has one. Rejects if the address is private and must not be. */
export async function dial(url: URL, dialling: Dialling): Promise<Dialled> {
  const { reaching, signal } = dialling;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const secure = url.protocol === 'https:';
  const target = parseTarget({ host, port: Number(url.port) || (secure ? 443 : 80) });
  if (target === undefined) throw new Error('the registry has no valid host');
  const proxy = reaching.proxy.proxyFor(target, secure ? 'tunnel' : 'http');
  // SECURITY: a proxy resolves names itself. Those that mean something in its own network only are as private as an address of it.
  const isPrivateName = target.isAddress ? !isPublic(target.host) : LOCAL_NAMES.test(target.host);
  if (proxy !== undefined && isPrivateName && !dialling.mayBePrivate) throw new PrivateAddress();
  if (proxy !== undefined && !secure)
    return { socket: dialProxy(proxy), absolute: true, extra: proxyAuthorization(proxy), isPrivate: isPrivateName };
  const direct = proxy === undefined ? await connectTo(target, dialling) : undefined;
  const isPrivate = direct === undefined ? isPrivateName : !isPublic(direct.remoteAddress ?? '');
  if (!secure) return { socket: direct!, absolute: false, extra: {}, isPrivate };
  const secured = connectTls({
    socket: direct ?? (await openTunnel(proxy!, target, { signal })),
    ...(isIP(host) === 0 ? { servername: host } : { host }),
    secureContext: reaching.trust,
    rejectUnauthorized: !reaching.insecureHosts.some((each) => each === host || each === `${host}:${target.port}`),
  });
  return { socket: secured, absolute: false, extra: {}, isPrivate };
}

export class PrivateAddress extends Error {
  constructor() {
    super("a registry that is not in the host's own network leads to an address there");
  }
}

/** SECURITY: the name is resolved once, and the connection is made to what was judged. */
async function connectTo({ host, port, isAddress }: Target, { signal, mayBePrivate }: Dialling) {
  const found = isAddress ? [host] : await unlessAborted(addressesOf(host), signal);
  const allowed = mayBePrivate ? found : found.filter(isPublic);
  if (allowed.length === 0) throw new PrivateAddress();
  return connectFirst(allowed, port, { signal, makeSocket: () => new Socket() });
}

async function addressesOf(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function isPublic(address: string): boolean {
  return addressKind(address, createOwnAddresses()()) === 'public';
}
