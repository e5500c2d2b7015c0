import { readAtMostSync } from '../../lib/read-at-most.ts';

/**
 * The host's pid of a process that knows only its pid in the jail. Node can neither receive a pid with a message nor
 * ask a socket for its peer's, so the children of the zygote's stages are searched.
 */
export function findRealPid(zygotePid: number, jailPid: number): number | undefined {
  for (const child of childrenOf(zygotePid)) {
    if (pidInJail(child) === jailPid) return child;
    for (const grandchild of childrenOf(child)) {
      if (pidInJail(grandchild) === jailPid) return grandchild;
    }
  }
  return undefined;
}

/** The pid of a process in the child namespace; undefined if the process is gone or has none. */
export function pidInJail(pid: number): number | undefined {
  try {
    const line = readAtMostSync(`/proc/${pid}/status`)
      .toString()
      .match(/^NSpid:\s+(.*)$/m);
    const pids = line?.[1]?.trim().split(/\s+/) ?? [];
    return pids[1] === undefined ? undefined : Number(pids[1]);
  } catch {
    return undefined;
  }
}

/**
 * The start time of a process in clock ticks since boot. With the pid, it tells the process from a later one with the
 * same pid.
 */
export function startOf(pid: number): string | undefined {
  try {
    const stat = readAtMostSync(`/proc/${pid}/stat`).toString('latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

/** The size of a list of 32,768 pids. A zygote has one child per session. */
const MOST_CHILDREN_BYTES = 262_144;

function childrenOf(pid: number): number[] {
  try {
    // Newest first: callers look for a process that was just created.
    return readAtMostSync(`/proc/${pid}/task/${pid}/children`, MOST_CHILDREN_BYTES)
      .toString()
      .trim()
      .split(' ')
      .filter(Boolean)
      .map(Number)
      .reverse();
  } catch {
    return [];
  }
}
