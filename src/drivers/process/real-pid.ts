import { readAtMostSync } from '../../lib/read-at-most.ts';

/**
 * The host's pid of a process that knows itself only by its pid in the jail. Node can neither receive a pid with a message nor ask a socket
 * for its peer's, so it is looked for among the children of the zygote's stages.
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

/** The pid that a process has one namespace below ours; undefined when it is gone or has none. */
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

/** When a process began, in ticks since the boot: with its pid, what tells it from a later one of the same number. */
export function startOf(pid: number): string | undefined {
  try {
    const stat = readAtMostSync(`/proc/${pid}/stat`).toString('latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

/** Bytes for 32,768 pids. The children are one for each session of a zygote. */
const MOST_CHILDREN_BYTES = 262_144;

function childrenOf(pid: number): number[] {
  try {
    // The newest last: whoever asks is looking for one that was just made.
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
