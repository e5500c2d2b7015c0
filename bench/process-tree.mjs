import { readdirSync, readFileSync } from 'node:fs';
import { NotTried } from './not-tried.mjs';

/** All processes below `root`, without those in `except` and their descendants. */
export function descendants(root, { except = [] } = {}) {
  const children = childrenByParent();
  const found = [];
  const visit = (pid) => {
    for (const child of children.get(pid) ?? []) {
      if (except.includes(child)) continue;
      found.push(child);
      visit(child);
    }
  };
  visit(root);
  return found;
}

/** Proportional set size: shared pages count proportionally, so that sums over processes are correct. */
export function proportionalBytes(pids) {
  return pids.reduce((sum, pid) => sum + proportionalBytesOf(pid), 0);
}

function proportionalBytesOf(pid) {
  try {
    const line = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').match(/^Pss:\s+(\d+) kB$/m);
    return Number(line?.[1] ?? 0) * 1024;
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return 0;
    throw new NotTried(`only root can read how much memory sandboxes hold (${error.code})`);
  }
}

function childrenByParent() {
  const children = new Map();
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? parentOf(name) : undefined;
    if (parent === undefined) continue;
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  return children;
}

/**
 * The parent of a process. The name in the second field may contain anything, even a closing parenthesis, so fields are
 * counted after the last one.
 */
function parentOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}
