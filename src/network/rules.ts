import { HotcellError } from '../errors/hotcell-error.ts';
import type { Rule, Target } from './contract.ts';
import { hostAndPort, parseHost, shownHost, splitPort } from './host-name.ts';

/** SECURITY: a rule without a port allows these only. Otherwise `host` would open its SSH, mail and database ports too. */
export const DEFAULT_PORTS: readonly number[] = [80, 443];

/** Parses `host`, `*.host`, `host:port` or `[v6]:port`, each with `!` before it to deny. Throws `invalid_argument` with the rule and what is wrong with it. */
export function parseRule(text: string): { rule: Rule; denies: boolean } {
  const denies = text.startsWith('!');
  const pattern = denies ? text.slice(1) : text;
  if (pattern === '*') throw badRule(text, 'a star alone is no rule', "Use 'all'.");
  if (pattern.includes('/'))
    throw badRule(text, 'it has a slash', 'Name a host: without scheme, path or network mask.');
  const subdomains = pattern.startsWith('*.');
  const split = splitPort(subdomains ? pattern.slice(2) : pattern);
  if (split === undefined) throw badRule(text, 'its port is not a number from 1 to 65535');
  if (split.host.includes('*')) throw badRule(text, 'a star may only stand at the beginning, as in *.example.com');
  const parsed = parseHost(split.host);
  if (parsed === undefined) throw badRule(text, 'it does not name a host');
  if (subdomains && parsed.isAddress) throw badRule(text, 'an address has no subdomains');
  const shown = `${subdomains ? '*.' : ''}${shownTarget(parsed.host, split.port)}`;
  const ports = split.port !== undefined ? [split.port] : denies ? 'all' : DEFAULT_PORTS;
  return { rule: { text: shown, host: parsed.host, subdomains, ports, named: !subdomains }, denies };
}

/** Whether a rule is about a target. */
export function matches(rule: Rule, { host, port }: Pick<Target, 'host' | 'port'>): boolean {
  return matchesHost(rule, host) && (rule.ports === 'all' || rule.ports.includes(port));
}

/** Whether each host of `inner` is one of `outer`, whatever the ports. */
export function coversHosts(outer: Rule, inner: Rule): boolean {
  if (!inner.subdomains) return matchesHost(outer, inner.host);
  return outer.subdomains && (outer.host === inner.host || isBelow(inner.host, outer.host));
}

function matchesHost(rule: Rule, host: string): boolean {
  return rule.subdomains ? isBelow(host, rule.host) : host === rule.host;
}

// SECURITY: the dot belongs to the comparison, or `evilallowed.com` would be below `allowed.com`.
function isBelow(host: string, parent: string): boolean {
  return host.endsWith(`.${parent}`);
}

function shownTarget(host: string, port: number | undefined): string {
  return port === undefined ? host : hostAndPort({ host, port });
}

function badRule(
  text: string,
  problem: string,
  remedy = 'A rule is a host, *.host or host:port, with ! before it to deny.',
): HotcellError {
  return new HotcellError('invalid_argument', `network rule "${shownHost(text)}": ${problem}`, { remedy });
}
