import { Socket } from 'node:net';
import { connectFirst } from './connect-first.ts';
import type { FailureReason, NetworkRules, RefusalReason, Target, Via } from './contract.ts';
import type { HostProxy, ProxyServer } from './host-proxy.ts';
import { pinnedAddresses } from './pinned-addresses.ts';
import { dialProxy, openTunnel } from './proxy-tunnel.ts';
import type { Resolve } from './resolve.ts';
import { ServerSocket } from './server-socket.ts';

/** The system calls of a connection, which tests replace at the edge. */
export interface Reach {
  readonly resolve: Resolve;
  readonly ownAddresses: () => ReadonlySet<string>;
  readonly hostProxy: HostProxy;
}

export interface Wanted {
  readonly target: Target;
  readonly named: boolean;
  readonly rules: NetworkRules;
  readonly via: Via;
  /** Memory to read into, if the socket is carried (`ServerSocket`). */
  readonly memory: Buffer | undefined;
}

export type OpenedSocket =
  /** `proxy`: the socket leads to it, and a request must be in absolute form with its authorization. */
  | { readonly kind: 'socket'; readonly socket: Socket; readonly address?: string; readonly proxy?: ProxyServer }
  | { readonly kind: 'refused'; readonly why: RefusalReason }
  | { readonly kind: 'failed'; readonly failure: FailureReason };

/** Names that mean something inside of a network only: a proxy would resolve them to what stands beside it. */
export const LOCAL_NAMES =
  /^[^.]+$|\.(?:localhost|local|localdomain|internal|intranet|private|corp|lan|home|home\.arpa|test|invalid|onion)$/;

/** Resolves a target once, pins its addresses, and connects to one of them, or asks the host's proxy if it has one for public targets. Never rejects. */
export async function openSocket(wanted: Wanted, reach: Reach, signal: AbortSignal): Promise<OpenedSocket> {
  const { target, named, via } = wanted;
  try {
    const proxy = reach.hostProxy.proxyFor(target, via);
    const resolved = await addressesOf(wanted, reach.resolve, signal);
    if (resolved === undefined) {
      // Behind a proxy, a host often resolves no public names at all.
      if (proxy === undefined || (!named && LOCAL_NAMES.test(target.host)))
        return { kind: 'failed', failure: 'unresolvable' };
      return await throughProxy(proxy, wanted, signal);
    }
    const pinned = pinnedAddresses(wanted, resolved, reach.ownAddresses());
    if (pinned.kind === 'refused') return pinned;
    // SECURITY: a proxy gets the name, because many decide by it, and so resolves it again: what its network lets a name lead to is up to the proxy.
    if (proxy !== undefined && pinned.isPublic) return await throughProxy(proxy, wanted, signal);
    // Half-open, so that each direction ends on its own.
    const makeSocket = () =>
      wanted.memory === undefined ? new Socket({ allowHalfOpen: true }) : new ServerSocket(wanted.memory);
    const socket = await connectFirst(pinned.addresses, target.port, { signal, makeSocket });
    return { kind: 'socket', socket, ...(socket.remoteAddress === undefined ? {} : { address: socket.remoteAddress }) };
  } catch (error) {
    return { kind: 'failed', failure: failureOf(error, signal) };
  }
}

/** Undefined if the name cannot be resolved. */
async function addressesOf(
  { target, named }: Wanted,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  if (target.isAddress) return [target.host];
  try {
    const found = await resolve(target.host, { named, signal });
    return found.length === 0 ? undefined : found;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

async function throughProxy(proxy: ProxyServer, { target, via }: Wanted, signal: AbortSignal): Promise<OpenedSocket> {
  if (via === 'http') return { kind: 'socket', socket: dialProxy(proxy), proxy };
  try {
    return { kind: 'socket', socket: await openTunnel(proxy, target, { signal }) };
  } catch {
    signal.throwIfAborted();
    return { kind: 'failed', failure: 'proxy-failed' };
  }
}

function failureOf(error: unknown, signal: AbortSignal): FailureReason {
  if (signal.aborted) return (signal.reason as Error | undefined)?.name === 'TimeoutError' ? 'timed-out' : 'cancelled';
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ECONNREFUSED' || code === 'ECONNRESET') return 'connection-refused';
  return code === 'ETIMEDOUT' ? 'timed-out' : 'unreachable';
}
