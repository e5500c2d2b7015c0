/**
 * The inner system call filter: a classic BPF program, generated for the sandbox's architecture and installed by the
 * guest with `prctl`. It is a second line behind the driver's own barriers: a denylist of calls that a sandbox never
 * needs.
 */
import {
  ALLOW,
  ARCHITECTURE,
  assemble,
  branch,
  ifAtLeast,
  ifEqual,
  KILL,
  type Line,
  label,
  load,
  NUMBER,
  refuse,
} from './bpf.ts';
import { NEWEST_REVIEWED, NOT_REVIEWED, type Numbers, OWN_KERNEL_RULES, RULES } from './system-calls.ts';

export type Architecture = 'x64' | 'arm64';

const AUDIT_ARCH: Record<Architecture, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };
const X32_BIT = 0x40000000;
const SCHED_SETAFFINITY: Numbers = [203, 122];
const EPERM = 1;
/** The number of calls in a leaf of the search: fewer make the program longer, more make each call slower. */
const LEAF = 8;

export interface FilterOptions {
  /** For a zygote, which needs the few calls that create a sandbox. Its forks add the whole filter. */
  readonly makesSandboxes?: boolean;
  /** For a process that adds the whole filter later, and sets limits before that. A zygote does too. */
  readonly outer?: boolean;
  /** For a sandbox with its own kernel, whose memory counts as the sandbox's. */
  readonly ownKernel?: boolean;
  /** For a sandbox whose kernels add `pinnedFilter`, which then refuses further filters. */
  readonly addsFilters?: boolean;
}

const MAKING_SANDBOXES = ['unshare', 'mount', 'umount2', 'pivot_root', 'sethostname', 'clone'];
const ADDING_FILTERS = ['prctl'];
const SETTING_LIMITS = ['setrlimit', 'prlimit64'];

/** The program for one architecture: 8 bytes an instruction. */
export function seccompFilter(architecture: Architecture, options: FilterOptions = {}): Buffer {
  const { makesSandboxes = false, outer = makesSandboxes, ownKernel = false, addsFilters = outer } = options;
  const left = [
    ...(makesSandboxes ? MAKING_SANDBOXES : []),
    ...(outer ? SETTING_LIMITS : []),
    ...(addsFilters ? ADDING_FILTERS : []),
  ];
  const numbered = (ownKernel ? OWN_KERNEL_RULES : RULES).flatMap(({ decide, calls }) =>
    Object.entries(calls)
      .filter(([name]) => !left.includes(name))
      .map(([, numbers]) => ({ number: numberOn(architecture, numbers), decide })),
  );
  const decided = numbered.filter(({ number }) => number >= 0).sort((a, b) => a.number - b.number);
  const head: Line[] = [
    load(ARCHITECTURE),
    ifEqual(AUDIT_ARCH[architecture], 'ours'),
    KILL,
    label('ours'),
    load(NUMBER),
    ifAtLeast(NEWEST_REVIEWED + 1, undefined, 'known'),
    // x32 calls have other numbers, which the rules do not cover.
    ...(architecture === 'x64' ? [ifAtLeast(X32_BIT, undefined, 'new'), KILL, label('new')] : []),
    // SECURITY: calls newer than the rules, as `open_tree_attr` was, would not be covered by them.
    NOT_REVIEWED,
    label('known'),
  ];
  return Buffer.concat([assemble(head), search(decided)]);
}

/**
 * A filter that refuses changes of the CPU affinity, if that is the CPU limit. For a process with the filter above,
 * after it is pinned.
 */
export function pinnedFilter(architecture: Architecture): Buffer {
  const adding = RULES.find(({ calls }) => 'prctl' in calls)!;
  return Buffer.concat([
    assemble([load(NUMBER)]),
    guarded([numberOn(architecture, SCHED_SETAFFINITY)], [refuse(EPERM)]),
    guarded([numberOn(architecture, adding.calls.prctl!)], adding.decide),
    assemble([ALLOW]),
  ]);
}

function numberOn(architecture: Architecture, numbers: Numbers): number {
  return numbers[architecture === 'x64' ? 0 : 1];
}

interface Decided {
  readonly number: number;
  readonly decide: readonly Line[];
}

/**
 * A binary search: starting a sandbox waits while Linux checks the program for every call number. The accumulator holds
 * the number of the call.
 */
function search(sorted: readonly Decided[]): Buffer {
  if (sorted.length <= LEAF) return leaf(sorted);
  const middle = sorted.length >> 1;
  return branch(sorted[middle]!.number, search(sorted.slice(0, middle)), search(sorted.slice(middle)));
}

function leaf(entries: readonly Decided[]): Buffer {
  const rules = [...new Set(entries.map(({ decide }) => decide))];
  const parts = rules.map((decide) =>
    guarded(
      entries.filter((entry) => entry.decide === decide).map(({ number }) => number),
      decide,
    ),
  );
  return Buffer.concat([...parts, assemble([ALLOW])]);
}

/** A decision about some calls; for all others the accumulator still holds the call's number afterwards. */
function guarded(numbers: readonly number[], decide: readonly Line[]): Buffer {
  const last = numbers.length - 1;
  return assemble([
    ...numbers.map((number, index) => ifEqual(number, 'decide', index === last ? 'others' : undefined)),
    label('decide'),
    ...decide,
    label('others'),
  ]);
}
