import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import type {
  ConnectionEnd,
  FailureReason,
  NetworkCounters,
  NetworkEvent,
  NetworkLimits,
  NetworkRules,
  Refusal,
  RefusalReason,
  RequestedTarget,
  Target,
  Via,
} from './contract.ts';
import { parseTarget, shownHost } from './host-name.ts';
import type { ProxyServer } from './host-proxy.ts';
import { openSocket, type Reach } from './open-socket.ts';
import { pinnedAddresses } from './pinned-addresses.ts';
import { decideBoth } from './policy.ts';
import { readMemory } from './server-socket.ts';
import { createUsage, type Usage } from './usage.ts';

export interface ConnectionsOptions {
  readonly rules: NetworkRules;
  readonly limits: NetworkLimits;
  readonly onEvent: (event: NetworkEvent) => void;
  readonly reach: Reach;
  readonly clock: Clock;
  readonly tlsOnlyPorts: readonly number[];
  readonly httpOnlyPorts: readonly number[];
  /** False for services that the operator named: their clients are connected to loopback, and cannot know the server's name. */
  readonly checksFirstBytes: boolean;
}

/** The connections of a session, those being opened included: decisions, limits, events. `tunnel.ts` and `http-forward.ts` say what travels on them. */
export interface Connections {
  readonly options: ConnectionsOptions;
  readonly usage: Usage;
  /** Opens a connection that was decided, limited and pinned. What it returns as `connected` must be ended by `end`. */
  connect(requested: RequestedTarget, via: Via, options: ConnectOptions): Promise<Connecting>;
  /** Counts a refusal that was found later, and says so in an event. */
  refuse(target: RequestedTarget, refused: { why: RefusalReason; saw?: string }, via: Via): Refusal;
  /** Whether the network is closed. */
  isClosed(): boolean;
  /** Calls back when the network is closed. The returned function forgets that. */
  whenClosed(work: () => void): () => void;
  change(rules: NetworkRules): void;
  counters(): NetworkCounters;
  close(): void;
}

export interface ConnectOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whether `carry` reads the socket: one that the host connected is a `ServerSocket` then, which others cannot read. */
  readonly isCarried: boolean;
}

export type Connecting =
  | { readonly kind: 'connected'; readonly connected: Connected }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'failed'; readonly failure: FailureReason };

export interface Connected {
  readonly target: Target;
  readonly socket: Socket;
  readonly address: string | undefined;
  readonly proxy: ProxyServer | undefined;
  /** A rule names exactly this host. */
  readonly exact: boolean;
  /** Counts bytes of this connection and of the session. False if they exceed the session's limit. */
  count(direction: 'sent' | 'received', bytes: number): boolean;
  /** Called if the policy or the end of the session ends the connection. */
  onStop(stop: (why: RefusalReason) => void): void;
  /** Destroys the socket, gives the connection's place back, and reports its end. Idempotent. */
  end(how: ConnectionEnd['kind']): void;
}

interface Live {
  readonly target: Target;
  address?: string;
  /** The reason if it was stopped between its opening and `onStop`, before there was a callback. */
  stopped?: RefusalReason;
  stop(why: RefusalReason): void;
}

export function createConnections(options: ConnectionsOptions): Connections {
  const { limits, onEvent, reach, clock } = options;
  const usage = createUsage(limits, clock);
  const live = new Set<Live>();
  const waiting = new Set<() => void>();
  const counts = { opened: 0, refused: 0, failed: 0 };
  let rules = options.rules;
  /** All carried connections read into it, one after the other. */
  let memory: Buffer | undefined;
  let isClosed = false;

  function refuse(target: RequestedTarget, refused: { why: RefusalReason; saw?: string }, via: Via): Refusal {
    const refusal = { host: shownHost(target.host), port: target.port, ...refused };
    counts.refused += 1;
    onEvent({ event: 'refused', refusal, via });
    return refusal;
  }

  const refused = (target: RequestedTarget, why: RefusalReason, via: Via): Connecting => ({
    kind: 'refused',
    refusal: refuse(target, { why }, via),
  });

  async function connect(requested: RequestedTarget, via: Via, options: ConnectOptions): Promise<Connecting> {
    const { signal, isCarried } = options;
    const exceeded = isClosed ? 'closed' : usage.begin();
    if (exceeded !== undefined) return refused(requested, exceeded, via);
    const target = parseTarget(requested);
    const decision = target === undefined ? undefined : decideBoth(rules, target);
    if (target === undefined || decision?.allowed !== true) {
      usage.release();
      return refused(target ?? requested, decision?.allowed === false ? decision.why : 'bad-host', via);
    }
    const stopping = new AbortController();
    const entry: Live = {
      target,
      stop: (why) => {
        entry.stopped ??= why;
        stopping.abort();
      },
    };
    live.add(entry);
    if (isCarried) memory ??= readMemory();
    const signals = [stopping.signal, AbortSignal.timeout(limits.connectMs), ...(signal === undefined ? [] : [signal])];
    const opened = await openSocket(
      { target, named: decision.named, rules, via, memory: isCarried ? memory : undefined },
      reach,
      AbortSignal.any(signals),
    );
    // SECURITY: the policy may have changed while the name was resolved or the server was slow.
    const stopped = entry.stopped ?? (opened.kind === 'socket' ? objection(target, opened.address) : undefined);
    if (opened.kind !== 'socket' || stopped !== undefined) {
      live.delete(entry);
      usage.release();
      if (opened.kind === 'socket') opened.socket.on('error', () => undefined).destroy();
      if (stopped !== undefined) return refused(target, stopped, via);
      if (opened.kind === 'refused') return refused(target, opened.why, via);
      const failure = opened.kind === 'failed' ? opened.failure : 'unreachable';
      counts.failed += 1;
      onEvent({ event: 'failed', host: target.host, port: target.port, failure, via });
      return { kind: 'failed', failure };
    }
    counts.opened += 1;
    const { socket, address, proxy } = opened;
    const place = address === undefined ? {} : { address };
    Object.assign(entry, place);
    onEvent({ event: 'opened', host: target.host, port: target.port, ...place, rule: decision.rule, via });
    return { kind: 'connected', connected: track({ entry, socket, address, proxy, exact: decision.exact }) };
  }

  /** Why the policy of now does not allow a target at this address, if so. */
  function objection(target: Target, address: string | undefined): RefusalReason | undefined {
    const decision = decideBoth(rules, target);
    if (!decision.allowed) return 'policy-changed';
    if (address === undefined) return undefined;
    const pinned = pinnedAddresses({ target, named: decision.named, rules }, [address], reach.ownAddresses());
    return pinned.kind === 'refused' ? 'policy-changed' : undefined;
  }

  function track(opened: Pick<Connected, 'socket' | 'address' | 'proxy' | 'exact'> & { entry: Live }): Connected {
    const { entry, socket, address, proxy, exact } = opened;
    const bytes = { sent: 0, received: 0 };
    const begunAt = clock.now();
    // A socket without a listener for errors would end the process.
    socket.on('error', () => undefined);
    return {
      target: entry.target,
      socket,
      address,
      proxy,
      exact,
      count: (direction, more) => {
        if (!usage.count(direction, more)) return false;
        bytes[direction] += more;
        return true;
      },
      onStop: (stop) => {
        entry.stop = stop;
        if (entry.stopped !== undefined) stop(entry.stopped);
      },
      end: (how) => {
        if (!live.delete(entry)) return;
        socket.destroy();
        usage.release();
        const { host, port } = entry.target;
        const durationMs = clock.now() - begunAt;
        onEvent({ event: 'closed', host, port, how, sentBytes: bytes.sent, receivedBytes: bytes.received, durationMs });
      },
    };
  }

  return {
    options,
    usage,
    connect,
    refuse,
    isClosed: () => isClosed,
    whenClosed: (work) => {
      waiting.add(work);
      return () => waiting.delete(work);
    },
    change: (next) => {
      rules = next;
      for (const { target, address, stop } of [...live]) {
        const why = objection(target, address);
        if (why !== undefined) stop(why);
      }
    },
    counters: () => ({
      open: usage.open(),
      ...counts,
      sentBytes: usage.bytes('sent'),
      receivedBytes: usage.bytes('received'),
    }),
    close: () => {
      isClosed = true;
      for (const { stop } of [...live]) stop('closed');
      for (const work of [...waiting]) work();
    },
  };
}
