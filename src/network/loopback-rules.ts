import { HotcellError } from '../errors/hotcell-error.ts';
import type { NetworkSetting } from './contract.ts';
import { parseHost, shownHost, splitPort } from './host-name.ts';
import { settingList } from './session-rules.ts';

/**
 * Throws `invalid_argument` for a rule that names loopback. Such a rule holds, and has no effect for ordinary programs:
 * for them loopback is the sandbox's own, and `NO_PROXY` names it. Called where a person or a model writes rules.
 */
export function refuseLoopbackRules(setting: NetworkSetting): void {
  for (const rule of settingList(setting)) {
    const named = loopbackIn(rule);
    if (named === undefined) continue;
    throw new HotcellError(
      'invalid_argument',
      `network rule "${shownHost(rule)}": inside a sandbox, ${named} is the sandbox itself, not this machine`,
      {
        remedy:
          'Let the operator name the server in `forwards` of the configuration, and use it as a service (docs/guides/network.md); or name it by another address of its machine.',
      },
    );
  }
}

/** The loopback host that a rule allows. Rules that are wrong in another way are for `parseRule`. */
function loopbackIn(rule: string): string | undefined {
  const split = splitPort(rule.startsWith('*.') ? rule.slice(2) : rule);
  const host = split === undefined ? undefined : parseHost(split.host)?.host;
  return host !== undefined && /^(?:localhost|.*\.localhost|127\..*|::1)$/.test(host) ? host : undefined;
}
