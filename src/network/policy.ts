import { HotcellError } from '../errors/hotcell-error.ts';
import type { Decision, NetworkPolicy, NetworkRules, NetworkSetting, RegistryHost, Rule, Target } from './contract.ts';
import { hostAndPort, parseHost } from './host-name.ts';
import { coversHosts, matches, parseRule } from './rules.ts';

export const NO_NETWORK: NetworkPolicy = { everything: false, allow: [], deny: [] };

const MOST_RULES = 1000;

/** Parses a setting. `registries` are the hosts that the word means on this host. Throws `invalid_argument`, and names the first rule that is wrong. */
export function parsePolicy(setting: NetworkSetting, registries: readonly RegistryHost[] = []): NetworkPolicy {
  const entries = typeof setting === 'string' ? [setting] : setting;
  if (entries.length > MOST_RULES) throw new HotcellError('invalid_argument', `more than ${MOST_RULES} network rules`);
  if (entries.includes('none')) {
    if (entries.length === 1) return NO_NETWORK;
    throw new HotcellError('invalid_argument', 'network: none cannot stand beside other rules');
  }
  const parsed = entries.filter((entry) => entry !== 'all' && entry !== 'registries').map(parseRule);
  return {
    everything: entries.includes('all'),
    allow: [
      ...parsed.filter(({ denies }) => !denies).map(({ rule }) => rule),
      ...(entries.includes('registries') ? registries.map(registryRule) : []),
    ],
    deny: parsed.filter(({ denies }) => denies).map(({ rule }) => rule),
  };
}

/** Decides about one policy. `host` may be any spelling; one that is not a host is not allowed. */
export function decide(policy: NetworkPolicy, host: string, port: number): Decision {
  const parsed = parseHost(host);
  if (parsed === undefined) return { allowed: false, why: 'not-allowed' };
  const target = { host: parsed.host, port };
  if (policy.deny.some((rule) => matches(rule, target))) return { allowed: false, why: 'denied' };
  const rules = policy.allow.filter((rule) => matches(rule, target));
  if (rules.length === 0 && !policy.everything) return { allowed: false, why: 'not-allowed' };
  return { allowed: true, rule: rules[0]?.text ?? 'all', named: rules.some(({ named }) => named) };
}

/** A decision of both policies. `named`: by the operator, so that it may be private. `exact`: a rule of either of them names exactly this host. */
export type SessionDecision =
  | { readonly allowed: true; readonly rule: string; readonly named: boolean; readonly exact: boolean }
  | (Decision & { readonly allowed: false });

/** Decides about a session: both policies must allow the target. */
export function decideBoth({ ceiling, wanted }: NetworkRules, { host, port }: Target): SessionDecision {
  const most = decide(ceiling, host, port);
  const asked = decide(wanted, host, port);
  if (!asked.allowed) return asked;
  if (!most.allowed) return most;
  return { allowed: true, rule: asked.rule, named: most.named, exact: asked.named || most.named };
}

/** Whether `wanted` is within the ceiling; if not, what exceeds it, as rules that the operator could add: for `network_denied`. */
export function within(
  ceiling: NetworkPolicy,
  wanted: NetworkPolicy,
): { within: true } | { within: false; exceeds: string[] } {
  const everything = wanted.everything && !ceiling.everything ? ['all'] : [];
  const exceeds = [...new Set([...everything, ...wanted.allow.flatMap((rule) => beyond(ceiling, rule))])];
  return exceeds.length === 0 ? { within: true } : { within: false, exceeds };
}

/** A rule that is partly denied is within: each connection is decided by both policies. One that is denied as a whole could never be used. */
function beyond(ceiling: NetworkPolicy, rule: Rule): string[] {
  const ports = rule.ports === 'all' ? [] : rule.ports;
  const missing = ports.filter((port) => {
    const concerns = (other: Rule) => coversHosts(other, rule) && (other.ports === 'all' || other.ports.includes(port));
    return ceiling.deny.some(concerns) || !(ceiling.everything || ceiling.allow.some(concerns));
  });
  if (missing.length === ports.length && ports.length > 0) return [rule.text];
  return missing.map((port) => `${rule.subdomains ? '*.' : ''}${hostAndPort({ host: rule.host, port })}`);
}

// SECURITY: a host that only a page of the index links to is not named by the operator, or a page could lead to private addresses.
function registryRule({ rule: text, configured }: RegistryHost): Rule {
  const { rule, denies } = parseRule(text);
  if (denies) throw new HotcellError('invalid_argument', `registry "${text}": a registry cannot be a rule that denies`);
  return { ...rule, named: rule.named && configured };
}
