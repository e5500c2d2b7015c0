import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { unlessAborted } from '../lib/abort.ts';
import { coalesced } from '../lib/coalesced.ts';

/** Resolves a name to addresses, in the order in which they should be tried. Rejects if there are none, or when the signal aborts. */
export type Resolve = (host: string, options: { named: boolean; signal: AbortSignal }) => Promise<string[]>;

const ATTEMPT_MS = 3000;
const ATTEMPTS = 2;

/**
 * Resolves with the system's resolver if the operator named the host, which may then stand in `/etc/hosts` or a search domain, and by DNS alone otherwise.
 * `servers` are asked instead of those of the system.
 *
 * SECURITY: `getaddrinfo` takes one of two threads of the process and cannot be cancelled. A session that may reach any host could keep both busy with a name
 * server that never answers, and lookups of all others would wait behind it. So those of one host share one. Make one of these for all sessions of a server.
 */
export function createResolve({
  servers,
  lookupAll = bySystemOnce,
}: {
  servers?: readonly string[];
  lookupAll?: (host: string) => Promise<string[]>;
} = {}): Resolve {
  const bySystem = coalesced(lookupAll);
  return async (host, { named, signal }) => {
    signal.throwIfAborted();
    if (named && servers === undefined) return await unlessAborted(bySystem(host), signal);
    const resolver = new Resolver({ timeout: ATTEMPT_MS, tries: ATTEMPTS });
    if (servers !== undefined) resolver.setServers(servers);
    return await byDns(resolver, host, signal);
  };
}

async function bySystemOnce(host: string): Promise<string[]> {
  const found = await systemLookup(host, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}

async function byDns(resolver: Resolver, host: string, signal: AbortSignal): Promise<string[]> {
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const [six, four] = await Promise.allSettled([resolver.resolve6(host), resolver.resolve4(host)]);
    const found = [six, four].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length === 0 && four.status === 'rejected') throw four.reason;
    return found;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
