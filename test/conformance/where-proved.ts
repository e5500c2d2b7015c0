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
  ...['command:background', 'calls:clock'],
];
/** The dearest of what all shapes of the process driver do in the same way. Attacks on the host and the network are tried everywhere. */
const IN_JAILS = [...ON_LINUX, 'execute:', 'neighbour:epoll', 'limit:supervisor-memory'];

/** Memory in places where a watchdog would not see it. `limit:memory` itself, and a crowd of processes, are tried everywhere. */
const HIDDEN_MEMORY = [
  ...['limit:memory-at-once', 'limit:memory-idle', 'limit:memory-exited-leader', 'limit:memory-stalled'],
  'limit:memory-unreaped',
];

/** Requirements about drivers, by the beginnings of their ids, that one target leaves to another in a plain run, because both do the same there. */
interface LeftTo {
  readonly other: TargetName;
  readonly ids: readonly string[];
}

/** Where the other target cannot be tried, they are proved here as well. */
export const LEFT_TO_OTHERS: Readonly<Partial<Record<TargetName, readonly LeftTo[]>>> = {
  bare: [{ other: 'process, shared', ids: ON_LINUX }],
  // They have cgroups as well: the limits of memory are the same.
  'process, single': [
    {
      other: 'process, shared',
      ids: [
        ...IN_JAILS,
        ...['limit:memory-', 'limit:processes', 'limit:cpu', 'javascript:out-of-memory', 'packages:npm'],
      ],
    },
  ],
  // Its jails are built alike, and their mounts: only limits are kept in another way.
  'process, without cgroups': [
    { other: 'process, shared', ids: [...IN_JAILS, 'mounts:', 'layers:', 'session:', 'packages:npm'] },
  ],
  // The kernel is the same, and cgroups limit memory. What keeps neighbours apart is not the same, so all of that is proved there, but for the dearest of
  // the five counters that Linux keeps for each uid. Packages are those of one list with versions and hashes; that all are there is proved everywhere.
  docker: [
    {
      other: 'process, shared',
      ids: [
        ...[...ON_LINUX, ...HIDDEN_MEMORY, 'limit:supervisor-memory', 'neighbour:epoll', 'javascript:out-of-memory'],
        'environment:packages',
      ],
    },
  ],
  gvisor: [
    // Another kernel is below, so nearly all is proved there: but the supervisor decides about these, and ends what holds too much, whatever kernel it has.
    {
      other: 'process, shared',
      ids: [
        ...['interrupt:default-grace', 'limit:supervisor-memory', 'command:deadline', 'command:background'],
        ...['command:backpressure', 'command:beside', 'execute:randomness', 'javascript:out-of-memory'],
        ...[...HIDDEN_MEMORY, 'environment:packages'],
      ],
    },
    // The same image, and the same driver with another runtime: what the host decides about, and how kernels come to be.
    {
      other: 'docker',
      ids: [
        ...['environment:installed', 'environment:programs', 'environment:fonts'],
        ...['session:pool', 'session:environment', 'session:alike', 'mounts:below-writable'],
        ...['mounts:targets', 'mounts:reserved', 'mounts:replaced', 'mounts:handed-on'],
      ],
    },
  ],
};

/** Requirements, by the beginnings of their ids, that a plain run leaves to others which are alike. */
interface LeftToAlike {
  readonly beginning: string;
  readonly proved: readonly string[];
}

export const LEFT_TO_ALIKE: readonly LeftToAlike[] = [
  // Recipes differ in what they start, not in what the guest does with it: one that builds, with a library, and one that interprets.
  { beginning: 'recipe:report:', proved: ['recipe:report:c-zlib', 'recipe:report:perl'] },
  // Linux keeps each of these counters for a uid, and each session has its own. To use up the watches takes a processor for ten seconds.
  { beginning: 'neighbour:epoll', proved: ['neighbour:inotify', 'neighbour:pipes', 'neighbour:message-queues'] },
];

/** Answers for one target why a requirement is left out there, or undefined where it is proved. */
export async function leftOutOf(target: Target): Promise<(requirement: Requirement) => string | undefined> {
  if (requireAll()) return () => undefined;
  const prover = await firstOf(GUEST_PROVERS);
  const lefts: LeftTo[] = [];
  for (const left of LEFT_TO_OTHERS[target.name] ?? [])
    if ((await firstOf(targets.filter(({ name }) => name === left.other))) !== undefined) lefts.push(left);
  return ({ id, tag, exempt = {} }) => {
    const left = lefts.find(
      ({ other, ids }) => exempt[other] === undefined && ids.some((beginning) => id.startsWith(beginning)),
    );
    if (tag === 'driver' && left !== undefined)
      return `the same on ${left.other}: proved there, and here with --require-all`;
    if (tag === 'guest' && target.name !== prover && !SMOKE.includes(id))
      return `about the guest: proved on ${prover}, and here with --require-all`;
    const alike = LEFT_TO_ALIKE.find(({ beginning, proved }) => id.startsWith(beginning) && !proved.includes(id));
    if (alike !== undefined) return `as ${alike.proved.join(' and ')}, which are proved; here with --require-all`;
    return undefined;
  };
}

const targets: readonly Target[] = Object.values(TARGETS);

/** The first that can be tried here. */
async function firstOf(candidates: readonly Target[]): Promise<TargetName | undefined> {
  for (const target of candidates) if ((await reasonToSkip(target)) === undefined) return target.name;
  return undefined;
}
