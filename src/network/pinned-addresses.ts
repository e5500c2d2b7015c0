import { type AddressKind, addressKind, canonicalAddress } from './addresses.ts';
import type { NetworkRules, Target } from './contract.ts';
import { decide } from './policy.ts';

const MOST_ADDRESSES = 8;

export type PinnedAddresses =
  | { readonly kind: 'addresses'; readonly addresses: readonly string[]; readonly isPublic: boolean }
  | { readonly kind: 'refused'; readonly why: 'private-address' | 'denied' };

/**
 * The addresses of a target that may be connected to, alternating between the families, from those that it resolved to. They are public, unless the operator
 * named the host: a name may then stand for a private address, and only an address that is itself in a rule for a special one.
 *
 * SECURITY: all that the name resolved to is judged at once and the connection is made to one of these, never to the name, so that a second answer of a name
 * server (DNS rebinding) is never asked for. A rule that denies an address also denies names that resolve to it.
 */
export function pinnedAddresses(
  { target, named, rules }: { target: Target; named: boolean; rules: NetworkRules },
  resolved: readonly string[],
  own: ReadonlySet<string>,
): PinnedAddresses {
  const kinds: readonly AddressKind[] = !named
    ? ['public']
    : target.isAddress
      ? ['public', 'private', 'special']
      : ['public', 'private'];
  const reachable = resolved.filter((address) => kinds.includes(addressKind(address, own)));
  if (reachable.length === 0) return { kind: 'refused', why: 'private-address' };
  const allowed = reachable.filter((address) => !isDenied(rules, address, target.port));
  if (allowed.length === 0) return { kind: 'refused', why: 'denied' };
  const isPublic = allowed.every((address) => addressKind(address, own) === 'public');
  return { kind: 'addresses', addresses: alternating([...new Set(allowed)]).slice(0, MOST_ADDRESSES), isPublic };
}

function isDenied({ ceiling, wanted }: NetworkRules, address: string, port: number): boolean {
  const canonical = canonicalAddress(address) ?? address;
  return [ceiling, wanted].some((policy) => {
    const decision = decide(policy, canonical, port);
    return !decision.allowed && decision.why === 'denied';
  });
}

/** One of each family in turn, beginning with the family of the first (RFC 8305). */
function alternating(addresses: readonly string[]): string[] {
  const isSix = (address: string) => address.includes(':');
  const first = addresses.filter((address) => isSix(address) === isSix(addresses[0]!));
  const second = addresses.filter((address) => isSix(address) !== isSix(addresses[0]!));
  return Array.from({ length: Math.max(first.length, second.length) }, (_, at) => [first[at], second[at]])
    .flat()
    .filter((address) => address !== undefined);
}
