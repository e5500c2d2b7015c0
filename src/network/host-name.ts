import { isIPv4 } from 'node:net';
import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';
import type { RequestedTarget, Target } from './contract.ts';

const LONGEST_NAME = 253;

/**
 * Normalises a host: lower case, no trailing dot, punycode for other scripts, and the canonical form of an address, however it is written. Undefined if it is not
 * a host. Two texts that the system's resolver takes for the same host give the same result, so that rules compare equal strings.
 */
export function parseHost(text: string): { host: string; isAddress: boolean } | undefined {
  // SECURITY: refused before anything decodes or cuts them. NUL ends a string in C; CR and LF end a header; `user@host` and `%2e` are read differently by different
  // parsers; a zone (`fe80::1%eth0`) chooses an interface of the host.
  if (text.length === 0 || text.length > 4 * LONGEST_NAME || /[\p{Cc}\p{Zs}\p{Zl}\p{Zp}@%/\\?#<>^|*,;"'`]/u.test(text))
    return undefined;
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : undefined;
  if (bare !== undefined || text.includes(':')) return parseIPv6(bare ?? text);
  // SECURITY: the host parser of URLs knows what getaddrinfo takes for an address: `2130706433`, `0x7f.1`, `0177.0.0.1` and `①②⑦.0.0.1` are 127.0.0.1. A textual
  // deny rule would miss them.
  const ascii = domainToASCII(text);
  if (isIPv4(ascii)) return { host: ascii, isAddress: true };
  const host = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii;
  return isName(host) ? { host, isAddress: false } : undefined;
}

/** Normalises a target of the guest. Undefined if its host or port is not one. */
export function parseTarget({ host, port }: RequestedTarget): Target | undefined {
  const parsed = parseHost(host);
  return parsed === undefined || !isPort(port) ? undefined : { ...parsed, port };
}

export function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

/** Splits `host`, `host:port`, `[v6]` and `[v6]:port`. Undefined if the port is not one; the host is not checked. */
export function splitPort(text: string): { host: string; port?: number } | undefined {
  const colon = text.lastIndexOf(':');
  if (colon === -1 || text.endsWith(']')) return { host: text };
  // An IPv6 address without brackets: `::1:80` could mean two things, so that it has no port.
  if (!text.startsWith('[') && text.indexOf(':') !== colon) return { host: text };
  const digits = text.slice(colon + 1);
  const port = /^[0-9]{1,5}$/.test(digits) ? Number(digits) : 0;
  return isPort(port) ? { host: text.slice(0, colon), port } : undefined;
}

/** `host:port`, with brackets around IPv6. */
export function hostAndPort({ host, port }: { host: string; port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Hostile text for a refusal or a log: printable ASCII of bounded length. */
export function shownHost(text: string): string {
  const clipped = text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME)}...` : text;
  return clipped.replace(/[^\x21-\x7e]/g, '?');
}

/** Names that resolvers accept; an underscore is common in practice. A label that ends in a number would be read as an address, and the URL parser has refused it. */
function isName(host: string): boolean {
  if (host.length > LONGEST_NAME) return false;
  return host.split('.').every((label) => label.length <= 63 && /^[a-z0-9_-]+$/.test(label) && !/^-|-$/.test(label));
}

function parseIPv6(text: string): { host: string; isAddress: boolean } | undefined {
  const hexadecimal = domainToASCII(`[${text}]`).slice(1, -1);
  if (hexadecimal === '') return undefined;
  // `::ffff:1.2.3.4` is 1.2.3.4 to connect(2), so rules see it as that.
  const address = ipaddr.IPv6.parse(hexadecimal);
  return { host: address.isIPv4MappedAddress() ? address.toIPv4Address().toString() : hexadecimal, isAddress: true };
}
