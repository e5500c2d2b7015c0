import { HotcellError } from '../errors/hotcell-error.ts';
import type { NetworkPolicy, NetworkRules, NetworkSetting, RegistryHost, RegistryHosts } from './contract.ts';
import { parsePolicy, within } from './policy.ts';

/** The wish of a session, and its bounds. */
export interface NetworkWish {
  /** The operator's ceiling for the owner. */
  readonly ceiling: NetworkSetting;
  readonly wanted: NetworkSetting;
  /** Whether a caller asked for `wanted`: then what exceeds the ceiling is an error. A default is only cut down to it. */
  readonly isAsked: boolean;
  /** Rules that a person allowed this session beyond the ceiling. */
  readonly granted?: readonly string[] | undefined;
}

/**
 * The rules of a session. Throws `network_denied`, with what exceeds the ceiling as `data.exceeds`, and whether a person
 * could grant it as `data.grantable`: nothing grants what the operator denied by a rule.
 */
export async function sessionRules(wish: NetworkWish, registryHosts: RegistryHosts): Promise<NetworkRules> {
  const { ceiling, wanted, isAsked, granted = [] } = wish;
  const registries = [ceiling, wanted, granted].some(namesRegistries) ? await registryHosts() : [];
  if (isAsked && namesRegistries(wanted) && registries.length === 0) throw noRegistries();
  const most = union(ceilingPolicy(ceiling, wanted, registries), grantedPolicy(granted, registries));
  const rules = { ceiling: most, wanted: parsePolicy(wanted, registries) };
  const exceeds = isAsked ? exceeding(most, wanted, registries) : [];
  if (exceeds.length === 0) return rules;
  const withThem = union(most, grantedPolicy(exceeds, registries));
  throw denied(exceeds, exceeding(withThem, wanted, registries).length === 0);
}

/** Whether a policy allows anything at all. */
export function allowsSomething({ everything, allow }: NetworkPolicy): boolean {
  return everything || allow.length > 0;
}

/** A setting as a list of its rules and words. */
export function settingList(setting: NetworkSetting): readonly string[] {
  return typeof setting === 'string' ? [setting] : setting;
}

/** A setting in few words: `none`, `all`, `api.example.com, *.example.org`. */
export function settingText(setting: NetworkSetting): string {
  const list = settingList(setting);
  return list.length === 0 ? 'none' : firstOf(list);
}

/**
 * The ceiling of an owner: its own in place of the configured one. SECURITY: what the configuration denies with `!` stays
 * denied, whatever else allows it.
 */
export function ceilingOf(configured: NetworkSetting, own: NetworkSetting | undefined): NetworkSetting {
  if (own === undefined || isNone(own)) return own ?? configured;
  return [...settingList(own), ...settingList(configured).filter((entry) => entry.startsWith('!'))];
}

/** Whether a setting has no network at all. */
export function isNone(setting: NetworkSetting): boolean {
  return settingList(setting).every((entry) => entry === 'none');
}

function namesRegistries(setting: NetworkSetting): boolean {
  return settingList(setting).includes('registries');
}

/** Under a ceiling of everything, a session that asks for registries gets mirrors with private addresses, too: the host is configured for them. */
function ceilingPolicy(
  ceiling: NetworkSetting,
  wanted: NetworkSetting,
  registries: readonly RegistryHost[],
): NetworkPolicy {
  const isAll = settingList(ceiling).includes('all') && namesRegistries(wanted);
  return parsePolicy(isAll ? [...settingList(ceiling), 'registries'] : ceiling, registries);
}

/** SECURITY: the person who answers may not be the operator, so a rule that was granted opens no private address. */
function grantedPolicy(granted: readonly string[], registries: readonly RegistryHost[]): NetworkPolicy {
  const own = parsePolicy(granted.filter((entry) => entry !== 'registries'));
  const allow = own.allow.map((rule) => ({ ...rule, named: false }));
  return namesRegistries(granted)
    ? { ...own, allow: [...allow, ...parsePolicy('registries', registries).allow] }
    : { ...own, allow };
}

function union(ceiling: NetworkPolicy, granted: NetworkPolicy): NetworkPolicy {
  return {
    everything: ceiling.everything || granted.everything,
    allow: [...ceiling.allow, ...granted.allow],
    deny: ceiling.deny,
  };
}

/** SECURITY: registries are one word here. Their hosts, which may be internal ones, are nothing that a client has to know. */
function exceeding(most: NetworkPolicy, wanted: NetworkSetting, registries: readonly RegistryHost[]): string[] {
  const named = settingList(wanted).filter((entry) => entry !== 'registries');
  const own = within(most, parsePolicy(named));
  const theirs = namesRegistries(wanted) ? within(most, parsePolicy('registries', registries)) : { within: true };
  return [...(theirs.within ? [] : ['registries']), ...(own.within ? [] : own.exceeds)];
}

/** Rules that a text names. A caller may ask for a thousand. */
const MOST_NAMED = 8;

function firstOf(rules: readonly string[]): string {
  const more = rules.length > MOST_NAMED ? ` and ${rules.length - MOST_NAMED} more` : '';
  return `${rules.slice(0, MOST_NAMED).join(', ')}${more}`;
}

function denied(exceeds: readonly string[], grantable: boolean): HotcellError {
  const flags = exceeds.slice(0, MOST_NAMED).map((rule) => `--network ${rule}`);
  return new HotcellError('network_denied', `this server does not allow sessions to reach ${firstOf(exceeds)}`, {
    remedy: `Do without, or ask the operator of the server to allow it: ${flags.join(' ')} (of hotcell mcp, serve, run or token create), or \`network\` in the configuration.`,
    data: { exceeds: [...exceeds], grantable },
  });
}

function noRegistries(): HotcellError {
  return new HotcellError('invalid_argument', 'network: registries: no package registry of this host is known', {
    remedy: 'Name the hosts instead.',
  });
}
