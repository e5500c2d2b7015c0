import { isIPv6 } from 'node:net';

/** The key of an address. IPv6 addresses are grouped by /64, the size that one host gets. */
export function addressKey(address: string): string {
  const groups = groupsOf(address);
  return groups === undefined ? ipv4Of(address) : prefix(groups, 64);
}

/**
 * The networks of an address, outermost first: /48 and /64 of IPv6, /16 and /24 of IPv4, and the address itself. A
 * provider gives a /48 to one customer, so that their number says nothing about the number of clients.
 */
export function networksOf(address: string): string[] {
  const groups = groupsOf(address);
  if (groups !== undefined) return [prefix(groups, 48), prefix(groups, 64), address];
  const parts = ipv4Of(address).split('.');
  return [parts.slice(0, 2).join('.'), parts.slice(0, 3).join('.'), parts.join('.')];
}

function ipv4Of(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}

/** The groups of an IPv6 address that does not stand for one of IPv4. */
function groupsOf(address: string): string[] | undefined {
  if (!isIPv6(ipv4Of(address))) return undefined;
  const [head = '', tail] = address.toLowerCase().split('%')[0]!.split('::');
  const groups = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length);
  return [...groups, ...Array<string>(missing).fill('0'), ...(tail ? tail.split(':') : [])];
}

function prefix(groups: readonly string[], bits: number): string {
  return `${groups.slice(0, bits / 16).join(':')}::/${bits}`;
}
