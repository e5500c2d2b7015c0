import type { NetworkEvent } from '../network/contract.ts';
import type { Feed, NetworkDecided } from '../telemetry/feed.ts';

/** Emits each decision about a connection of a session, and the end of each. */
export function emitNetwork(
  feed: Pick<Feed, 'emit'>,
  session: Pick<NetworkDecided, 'owner' | 'session'>,
): (event: NetworkEvent) => void {
  return (event) => feed.emit({ ...session, ...membersOf(event) });
}

function membersOf(event: NetworkEvent): Omit<NetworkDecided, 'owner' | 'session'> {
  switch (event.event) {
    case 'opened': {
      const { host, port, address, rule, via } = event;
      return {
        event: 'connection-opened',
        host,
        port,
        facts: { rule, via, ...(address === undefined ? {} : { address }) },
      };
    }
    case 'refused': {
      const { host, port, why, saw } = event.refusal;
      const facts = { via: event.via, ...(saw === undefined ? {} : { saw }) };
      return { event: 'connection-refused', host, port, why, facts };
    }
    case 'failed': {
      const { host, port, failure, via } = event;
      return { event: 'connection-failed', host, port, why: failure, facts: { via } };
    }
    case 'closed': {
      const { event: _, how, ...closed } = event;
      return { ...closed, event: 'connection-closed', why: how };
    }
  }
}
