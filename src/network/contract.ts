import type { Duplex } from 'node:stream';

/**
 * The network of one session, as the host enforces it. The broker makes one for a session that may use the network, calls `open` for each connection that the guest
 * asks for and `serveHttp` for each client of its plain HTTP proxy, and closes it with the session. It knows neither sessions nor the guest.
 *
 * Nothing that a guest or a server does makes these functions throw: a refusal and a failure are values. What is not allowed was not connected to; what fails
 * half-way leaves no socket behind.
 */
export interface SessionNetwork {
  /**
   * Decides, resolves the name once, and connects to an address that was checked. Nothing is sent to the server before `carry`. If `signal` aborts, the result
   * is `failed` and nothing stays open. An opening that is never carried ends after the idle time.
   */
  open(target: RequestedTarget, options?: { signal?: AbortSignal }): Promise<Opening>;
  /**
   * Serves requests of a plain HTTP proxy (`GET http://host/path`) on the client's stream until it ends: each request is checked on its own. Refusals and
   * failures are HTTP responses (403, 502, 504) and events.
   */
  serveHttp(client: Duplex): Promise<void>;
  /** Replaces the policy. Connections that it no longer allows are destroyed before this returns, and openings on their way are refused. */
  change(rules: NetworkRules): void;
  counters(): NetworkCounters;
  /** Destroys all connections; later openings are refused as `closed`. Idempotent. */
  close(): void;
}

/** The most that the operator allows, and the wish of the session within it. A connection needs both. */
export interface NetworkRules {
  /** SECURITY: only this one may open private addresses, by an exact rule. A session's own wish never does. */
  readonly ceiling: NetworkPolicy;
  readonly wanted: NetworkPolicy;
}

/** A setting as it arrives from tools, flags and configuration. In a list, `registries` and `all` may stand beside rules, so that `['all', '!host']` can be said. */
export type NetworkSetting = 'none' | 'registries' | 'all' | readonly string[];

/** A parsed setting. `parsePolicy` makes it; whatever matches a rule of `deny` is refused, whatever `allow` says. */
export interface NetworkPolicy {
  /** Every public host and every port. */
  readonly everything: boolean;
  readonly allow: readonly Rule[];
  readonly deny: readonly Rule[];
}

export interface Rule {
  /** The rule as it is shown to people, without its `!`. */
  readonly text: string;
  /** A normalised name or address. */
  readonly host: string;
  /** `*.host`: every name below `host`, at any depth, but not `host` itself. */
  readonly subdomains: boolean;
  /** Without a port, a rule that allows means 80 and 443, and one that denies means all. */
  readonly ports: readonly number[] | 'all';
  /** The rule names exactly one host, in words that its author chose: in the operator's ceiling it opens private addresses. */
  readonly named: boolean;
}

/** A host of a registry. `configured` if the host's own pip, npm or the like is pointed at it: then it counts as named by the operator. */
export interface RegistryHost {
  readonly rule: string;
  readonly configured: boolean;
}

/** Finds the registries that the host's own package managers use. */
export type RegistryHosts = () => Promise<readonly RegistryHost[]>;

/** A target as the guest names it: hostile text until `parseTarget` has normalised it. */
export interface RequestedTarget {
  readonly host: string;
  readonly port: number;
}

export interface Target {
  /** A lower-case ASCII name without a trailing dot, or a canonical address. */
  readonly host: string;
  readonly port: number;
  readonly isAddress: boolean;
}

export type Decision =
  /** `rule` is the text of the rule that allows it; `named` if a rule names exactly this host. */
  | { readonly allowed: true; readonly rule: string; readonly named: boolean }
  | { readonly allowed: false; readonly why: 'not-allowed' | 'denied' };

/** Why a connection was refused. A model reads it, with `set_network` named beside those that a change of policy can help. */
export type RefusalReason =
  /** The host or port is not one: forbidden characters, `@`, percent signs, too long. */
  | 'bad-host'
  /** No rule allows it. */
  | 'not-allowed'
  /** A rule with `!` denies it, or the address that it resolved to. */
  | 'denied'
  /** It resolved to an address that is not public, and the operator did not name this host. */
  | 'private-address'
  /** Port 443, and the client's first bytes are not TLS. */
  | 'not-tls'
  /** TLS without a server name. */
  | 'no-server-name'
  /** The TLS server name, or the Host header of plain HTTP, is another host. */
  | 'other-server-name'
  /** The beginning of a TLS connection that cannot be read, so that its name cannot be checked. */
  | 'bad-client-hello'
  /** A proxy request that is not `METHOD http://host[:port]/path` with one Host header. */
  | 'bad-request'
  | 'too-many-connections'
  | 'too-many-new-connections'
  | 'too-many-bytes'
  /** The policy changed while the connection was open or being opened. */
  | 'policy-changed'
  | 'closed';

export interface Refusal {
  /** At most 260 printable characters, even if the guest asked for something else. */
  readonly host: string;
  readonly port: number;
  readonly why: RefusalReason;
  /** The name that the client used instead, for `other-server-name`; printable and bounded. */
  readonly saw?: string;
}

export type FailureReason =
  | 'unresolvable'
  | 'unreachable'
  | 'connection-refused'
  | 'timed-out'
  | 'proxy-failed'
  | 'cancelled';

export type Opening =
  | { readonly kind: 'open'; readonly connection: OpenConnection }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'failed'; readonly failure: FailureReason };

export interface OpenConnection {
  readonly target: Target;
  /** The pinned address, or undefined if the host's proxy made the connection. */
  readonly address: string | undefined;
  /**
   * Checks the client's first bytes, then copies both ways with backpressure and half-close; the client's stream must be half-open. Resolves when both directions
   * are over or the connection was ended; both streams are closed then. Only `ended` means that the client got everything. Never rejects.
   * On port 443 a ClientHello with the target's name must come first; on port 80 all must be requests of HTTP whose Host is the target.
   */
  carry(client: Duplex): Promise<ConnectionEnd>;
  /** Ends the connection of a client that has gone. Idempotent. */
  close(): void;
}

export type ConnectionEnd =
  /** Both sides ended. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'idle' }
  /** One side was reset or destroyed; the other one was destroyed too, so that a cut-off reply does not look complete. */
  | { readonly kind: 'broken'; readonly by: 'client' | 'server' };

/** Limits of a session. Each has a default (`DEFAULT_LIMITS`). */
export interface NetworkLimits {
  /** Connections at a time, those being opened included. */
  readonly connections: number;
  /** New connections: so many at once, and so many more each second. */
  readonly newAtOnce: number;
  readonly newPerSecond: number;
  /** Bytes over the life of the session, to servers and from them. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** A connection on which nothing moves for so long is ended. */
  readonly idleMs: number;
  /** Resolving and connecting. */
  readonly connectMs: number;
}

export interface NetworkCounters {
  readonly open: number;
  readonly opened: number;
  readonly refused: number;
  readonly failed: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** An event for the audit log and the metrics. No path, header, byte or credential of a connection is in it. */
export type NetworkEvent =
  | {
      readonly event: 'opened';
      readonly host: string;
      readonly port: number;
      readonly address?: string;
      readonly rule: string;
      readonly via: Via;
    }
  | { readonly event: 'refused'; readonly refusal: Refusal; readonly via: Via }
  | {
      readonly event: 'failed';
      readonly host: string;
      readonly port: number;
      readonly failure: FailureReason;
      readonly via: Via;
    }
  | {
      readonly event: 'closed';
      readonly host: string;
      readonly port: number;
      readonly how: ConnectionEnd['kind'];
      readonly sentBytes: number;
      readonly receivedBytes: number;
      readonly durationMs: number;
    };

/** `tunnel`: bytes of the client's own protocol. `http`: one request of a plain HTTP proxy. */
export type Via = 'tunnel' | 'http';
