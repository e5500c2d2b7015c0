import type { NetworkEvent, RequestedTarget, SessionNetwork } from '../network/contract.ts';
import { shownHost } from '../network/host-name.ts';
import type { SessionUpstreams } from '../network/upstreams/session-upstreams.ts';
import { CallError, type Caller } from './method.ts';

/**
 * The networks and services of the sessions of one Hotcell, for the methods that connect to servers. `sessions/` adds
 * those of a session which may use any, and removes them with the session; so no session can use those of another.
 */
export interface SessionNetworks {
  /** `session`: the unique id. Replaces earlier members of the session's entry, and keeps the others. */
  add(session: string, entry: NetworkEntry): void;
  /** Closes the network and the services of a session, if it has any. */
  remove(session: string): void;
  /**
   * Counts one connection of the caller until it is disposed of. Throws a CallError if the session has no network, or
   * the owner too many connections.
   */
  begin(caller: ConnectingCaller, target?: RequestedTarget): NetworkConnection;
  /** The same for a connection to a service. */
  beginService(caller: ConnectingCaller, target?: RequestedTarget): ServiceConnection;
}

export type ConnectingCaller = Pick<Caller, 'owner' | 'session'>;

export interface NetworkEntry {
  readonly network?: SessionNetwork;
  readonly services?: SessionUpstreams;
  readonly onEvent: (event: NetworkEvent) => void;
}

export interface NetworkConnection extends Disposable {
  readonly network: SessionNetwork;
}

export interface ServiceConnection extends Disposable {
  readonly services: SessionUpstreams;
}

/** `perOwner`: connections of all sessions of one owner at a time. */
export function createSessionNetworks({ perOwner }: { perOwner: number }): SessionNetworks {
  const entries = new Map<string, NetworkEntry>();
  const open = new Map<string, number>();

  function close({ network, services }: Partial<NetworkEntry> = {}): void {
    network?.close();
    services?.close();
  }

  function count(owner: string, { onEvent }: NetworkEntry, target: RequestedTarget | undefined): Disposable {
    const before = open.get(owner) ?? 0;
    // SECURITY: each connection holds a descriptor of the server, of which all owners together have some thousands.
    if (before >= perOwner) {
      const { host, port } = { host: '', port: 0, ...target };
      const refusal = { host: shownHost(host), port, why: 'too-many-connections' as const };
      onEvent({ event: 'refused', refusal, via: target === undefined ? 'http' : 'tunnel' });
      throw new CallError('too-many', `your sessions have ${perOwner} connections open, which is the limit`);
    }
    open.set(owner, before + 1);
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        const left = (open.get(owner) ?? 1) - 1;
        if (left === 0) open.delete(owner);
        else open.set(owner, left);
      },
    };
  }

  return {
    add: (session, entry) => {
      const { network, services } = entries.get(session) ?? {};
      close({ ...(entry.network && { network }), ...(entry.services && { services }) });
      entries.set(session, { network, services, ...entry } as NetworkEntry);
    },
    remove: (session) => {
      close(entries.get(session));
      entries.delete(session);
    },
    begin: ({ owner, session }, target) => {
      const entry = entries.get(session);
      if (entry?.network === undefined) throw new CallError('refused', 'this session has no network');
      return { network: entry.network, ...count(owner, entry, target) };
    },
    beginService: ({ owner, session }, target) => {
      const entry = entries.get(session);
      if (entry?.services === undefined) throw new CallError('refused', 'this session has no services');
      return { services: entry.services, ...count(owner, entry, target) };
    },
  };
}
