import type { ManagedSession } from '../../directory/directory.ts';
import type { ExecutionResult } from '../../execution/result.ts';
import type { Refusal } from '../../network/contract.ts';
import { decide, parsePolicy } from '../../network/policy.ts';
import { missingRules, refusedSentence, settingWith } from '../../network/refused-connections.ts';
import { ceilingOf, isNone, settingList } from '../../network/session-rules.ts';
import type { McpDeps } from '../deps.ts';

/** Says which connections were refused, and who can allow them: the model by set_network, or only the user. */
export function refusedNotes(
  { network }: Pick<ExecutionResult, 'network'>,
  managed: { readonly session: Pick<ManagedSession['session'], 'network'> },
  deps: Pick<McpDeps, 'asking' | 'owner' | 'config'>,
): string[] {
  if (network === undefined) return [];
  const [missing] = missingRules(network);
  if (missing === undefined) return [refusedSentence(network)];
  const settable = missingRules({ refused: network.refused.filter(isWithinCeiling(deps)) });
  const wanted = { network: settingWith(managed.session.network.setting(), settable) };
  const advice =
    settable.length === 0
      ? `Only the user can allow it: --network ${missing} of the server.`
      : `To ask for it: set_network ${JSON.stringify(wanted)}.`;
  return [`${refusedSentence(network)} ${advice}`];
}

/** Whether set_network could allow it, as far as is known here: the person may grant more, and registries are known to the host alone. */
function isWithinCeiling({ asking, owner, config }: Parameters<typeof refusedNotes>[2]): (refusal: Refusal) => boolean {
  const ceiling = ceilingOf(config.network, owner.network);
  if (asking !== undefined || settingList(ceiling).includes('registries')) return () => true;
  const policy = parsePolicy(isNone(ceiling) ? 'none' : ceiling);
  return ({ host, port }) => decide(policy, host, port).allowed;
}
