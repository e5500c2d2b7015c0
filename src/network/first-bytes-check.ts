import { type FirstBytes, readFirstBytes } from './client-hello.ts';
import type { RefusalReason, Target } from './contract.ts';
import { shownHost } from './host-name.ts';

export interface FirstBytesRule {
  readonly target: Target;
  /** On port 443 a ClientHello must come first. Elsewhere it is checked if there is one. */
  readonly tlsOnly: boolean;
  /** A rule names exactly this host. */
  readonly exact: boolean;
}

export type Verdict =
  | { readonly kind: 'pass' }
  | { readonly kind: 'need-more'; readonly totalBytes: number }
  | { readonly kind: 'refused'; readonly why: RefusalReason; readonly saw?: string };

/**
 * Judges the bytes that a client has sent so far; `isAll` if no more will come.
 *
 * SECURITY: a server at an allowed address may serve other hosts too (a content delivery network, a load balancer). The name in the ClientHello chooses among them,
 * so it must be the host that the rules allowed. What is encrypted (the Host header, an inner ClientHello, STARTTLS) cannot be seen here, and a second hello, which
 * a server may ask for (HelloRetryRequest), is not looked at: servers choose by the first.
 */
export function judgeFirstBytes(bytes: Buffer, rule: FirstBytesRule, isAll: boolean): Verdict {
  const read = readFirstBytes(bytes);
  if (read.kind === 'other') return rule.tlsOnly ? { kind: 'refused', why: 'not-tls' } : { kind: 'pass' };
  if (read.kind === 'need-more') return isAll ? judgeCutOff(bytes, rule) : read;
  return read.kind === 'malformed' ? { kind: 'refused', why: 'bad-client-hello' } : judgeName(read, rule);
}

/** A client that says nothing passes: nothing is sent on. One byte is no TLS. */
function judgeCutOff({ length }: Buffer, { tlsOnly }: FirstBytesRule): Verdict {
  const passes = length === 0 || (length === 1 && !tlsOnly);
  return passes ? { kind: 'pass' } : { kind: 'refused', why: 'bad-client-hello' };
}

/** An address cannot stand in a ClientHello (RFC 6066, 3): one that a rule names needs no server name. */
function judgeName({ serverName }: FirstBytes & { kind: 'hello' }, { target, exact }: FirstBytesRule): Verdict {
  if (serverName === undefined)
    return target.isAddress && exact ? { kind: 'pass' } : { kind: 'refused', why: 'no-server-name' };
  // SECURITY: compared as it is, but for case and a trailing dot. Further normalising could make equal what a server tells apart.
  const name = serverName.toLowerCase().replace(/\.$/, '');
  return name === target.host
    ? { kind: 'pass' }
    : { kind: 'refused', why: 'other-server-name', saw: shownHost(serverName) };
}
