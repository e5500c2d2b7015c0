import { reasonToSkip, requireAll, TARGETS, type Target, type TargetName } from '../support/targets.ts';
import type { Requirement } from './context.ts';

/**
 * The targets that may prove the requirements about the guest, best first. In a plain run the first that can be tried proves all of them; jails fork
 * kernels with preloads, as most users have them, and cost least. `--require-all` proves everything on every target.
 */
const GUEST_PROVERS: readonly Target[] = [
  ...[TARGETS.shared, TARGETS.single, TARGETS.docker, TARGETS.gvisor, TARGETS.soft],
];

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

/** What the supervisor does with the processes and files of Linux, whatever is around it. */
const ON_LINUX = [
  ...['interrupt:', 'files:round-trip', 'files:large', 'recipe:signals', 'command:stdin', 'command:backpressure'],
  ...['command:terminal', 'command:job-control', 'command:signal', 'command:beside', 'command:deadline'],
  'command:background',
];
/** The dearest of what all shapes of the process driver do in the same way. Attacks on the host and the network are tried everywhere. */
const IN_JAILS = [...ON_LINUX, 'execute:', 'neighbour:epoll', 'limit:supervisor-memory'];

/**
 * Requirements about drivers, by the beginnings of their ids, that some targets leave to the shared jail in a plain run, because both do the same there.
 * Where the shared jail cannot be tried, they are proved there as well.
 */
export const LEFT_TO_SHARED: Readonly<Partial<Record<TargetName, readonly string[]>>> = {
  bare: ON_LINUX,
  // They have cgroups as well: the limits of memory are the same.
  'process, single': [...IN_JAILS, ...['limit:memory-', 'limit:processes', 'limit:cpu', 'javascript:out-of-memory']],
  // Its jails are built alike, and their mounts: only limits are kept in another way.
  'process, without cgroups': [...IN_JAILS, 'mounts:', 'session:'],
  // The kernel is the same. What keeps neighbours apart is not, so all of that is proved there.
  docker: [...ON_LINUX, 'limit:supervisor-memory'],
  // Another kernel is below, so nearly all is proved there: but the host decides about these, or the supervisor, or docker proves them too.
  gvisor: ['interrupt:default-grace', 'limit:supervisor-memory', 'mounts:below-writable', 'session:pool'],
};

/** Answers for one target why a requirement is left out there, or undefined where it is proved. */
export async function leftOutOf(target: Target): Promise<(requirement: Requirement) => string | undefined> {
  if (requireAll()) return () => undefined;
  const prover = await guestProver();
  const lefts = prover === TARGETS.shared.name ? (LEFT_TO_SHARED[target.name] ?? []) : [];
  return ({ id, tag }) => {
    if (tag === 'driver' && lefts.some((beginning) => id.startsWith(beginning)))
      return `the same on ${prover}: proved there, and here with --require-all`;
    if (tag === 'guest' && target.name !== prover && !SMOKE.includes(id))
      return `about the guest: proved on ${prover}, and here with --require-all`;
    return undefined;
  };
}

async function guestProver(): Promise<TargetName | undefined> {
  for (const target of GUEST_PROVERS) if ((await reasonToSkip(target)) === undefined) return target.name;
  return undefined;
}
