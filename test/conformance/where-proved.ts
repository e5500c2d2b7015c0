import { reasonToSkip, requireAll, TARGETS, type Target, type TargetName } from '../support/targets.ts';
import type { Requirement } from './context.ts';

/**
 * The targets that prove the requirements about the guest, best first: jails, which fork kernels with preloads, and gVisor, which has another
 * kernel below. Where one of them cannot be tried, the next stands in: two of them always prove all. `--require-all` proves all on every target.
 */
const PREFERRED: readonly Target[] = [TARGETS.shared, TARGETS.gvisor, TARGETS.docker, TARGETS.single, TARGETS.soft];
const ENOUGH = 2;

/** Requirements about the guest that every target proves: one of each kind, so that a guest that cannot work there at all shows at once. */
export const SMOKE: readonly string[] = [
  'execute:state',
  'execute:output',
  'execute:raised',
  'asyncio:cell',
  'display:bundle',
  'interrupt:timeout',
  'files:paths',
  'notebook:run',
  'complete:namespace',
  'variables:list',
  'bash:state',
  'javascript:state',
];

/** Answers for one target why a requirement is left out there, or undefined where it is proved. */
export async function leftOutOf(target: Target): Promise<(requirement: Requirement) => string | undefined> {
  const provers = requireAll() ? [] : await guestProvers(target.name);
  if (requireAll() || provers.includes(target.name)) return () => undefined;
  const reason = `about the guest: proved on ${provers.join(' and ')}, and here with --require-all`;
  return ({ id, tag }) => (tag === 'guest' && !SMOKE.includes(id) ? reason : undefined);
}

/** As many as it takes to know whether the target is among them: to try a target takes time. */
async function guestProvers(asking: TargetName): Promise<TargetName[]> {
  const found: TargetName[] = [];
  for (const target of PREFERRED) {
    if (found.length === ENOUGH || found.includes(asking)) break;
    if ((await reasonToSkip(target)) === undefined) found.push(target.name);
  }
  return found;
}
