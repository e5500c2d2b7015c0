import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { type Clock, systemClock } from '../lib/clock.ts';
import { canonicalAddress } from './addresses.ts';

const KEPT_MS = 5000;

/**
 * The host's own addresses, in canonical form; read again after a few seconds, because a VPN or a lease may change them.
 *
 * SECURITY: a public address of the host leads to services that listen only there and trust what comes from the host itself.
 */
export function createOwnAddresses(
  clock: Clock = systemClock,
  interfaces: () => NodeJS.Dict<NetworkInterfaceInfo[]> = networkInterfaces,
): () => ReadonlySet<string> {
  let known: ReadonlySet<string> = new Set();
  let until = Number.NEGATIVE_INFINITY;
  return () => {
    if (clock.now() < until) return known;
    until = clock.now() + KEPT_MS;
    const all = Object.values(interfaces()).flatMap((infos) => infos ?? []);
    known = new Set(all.map(({ address }) => canonicalAddress(address) ?? address));
    return known;
  };
}
