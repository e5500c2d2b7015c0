import { isIPv4 } from 'node:net';
import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';

export type AddressKind =
  /** Routed on the internet, and not one of the host's. */
  | 'public'
  /**
   * Private, loopback, carrier-grade NAT and unique local addresses, those for documentation and benchmarks, and those of the host itself: an operator who names a
   * host may mean one of these.
   */
  | 'private'
  /** Link-local, metadata, multicast, reserved, unspecified, and forms that hide another address: only an operator who names the address itself means it. */
  | 'special';

/** Metadata services of clouds outside of the link-local network: Azure's wire server, Alibaba's, Oracle's; and EC2's over IPv6. */
const METADATA = ['168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254'];

/**
 * Networks for documentation and benchmarks. Nothing public is there, but gateways that intercept connections, as VPN clients and transparent proxies do, let names
 * resolve to them.
 */
const GATEWAYS = ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '198.18.0.0/15'].map((network) =>
  ipaddr.IPv4.parseCIDR(network),
);

const IPV4_KINDS: Readonly<Partial<Record<string, AddressKind>>> = {
  unicast: 'public',
  private: 'private',
  loopback: 'private',
  carrierGradeNat: 'private',
};

const IPV6_KINDS: Readonly<Partial<Record<string, AddressKind>>> = {
  unicast: 'public',
  uniqueLocal: 'private',
  loopback: 'private',
};

const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::');
const NAT64 = ipaddr.IPv6.parse('64:ff9b::');

/**
 * The kind of an address in any form. `own` are the host's addresses, in canonical form.
 *
 * SECURITY: a list of what is public, not of what is private: a range that this does not know is refused. An address that carries one of IPv4 in it (mapped,
 * compatible, NAT64, 6to4, Teredo, ISATAP) leads a translator on the way to that one. The mapped form and NAT64's well-known prefix, through which a host without
 * IPv4 reaches everything, are judged by the address inside; the others, which nothing public needs, are refused.
 */
export function addressKind(text: string, own: ReadonlySet<string> = new Set()): AddressKind {
  const address = parseAddress(text);
  if (address === undefined) return 'special';
  const canonical = address.toString();
  if (METADATA.includes(canonical)) return 'special';
  const kind = address instanceof ipaddr.IPv6 ? ipv6Kind(address) : ipv4Kind(address);
  return kind === 'public' && own.has(canonical) ? 'private' : kind;
}

/** The canonical form in which addresses are compared: the mapped form and NAT64's are the address inside. Undefined for an address with a zone. */
export function canonicalAddress(text: string): string | undefined {
  return parseAddress(text)?.toString();
}

function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (isIPv4(text)) return ipaddr.IPv4.parse(text);
  // SECURITY: the URL parser writes the last four bytes as hexadecimal. ipaddr.js takes `::1.2.3.4` for the mapped form, which is another address.
  const hexadecimal = domainToASCII(`[${text}]`).slice(1, -1);
  return hexadecimal === '' ? undefined : inner(ipaddr.IPv6.parse(hexadecimal));
}

function inner(address: ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return address.match(NAT64, 96) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address;
}

function ipv4Kind(address: ipaddr.IPv4): AddressKind {
  if (GATEWAYS.some((network) => address.match(network))) return 'private';
  return IPV4_KINDS[address.range()] ?? 'special';
}

function ipv6Kind(address: ipaddr.IPv6): AddressKind {
  const kind = IPV6_KINDS[address.range()] ?? 'special';
  if (isIsatap(address)) return 'special';
  return kind === 'public' && !address.match(GLOBAL_UNICAST, 3) ? 'special' : kind;
}

/** RFC 5214: `…:0:5efe:a.b.c.d`, with or without the universal bit, below any prefix. */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return (parts[4] === 0 || parts[4] === 0x200) && parts[5] === 0x5efe;
}
