import { fstatSync, openSync } from 'node:fs';

/** Second descriptors of stdout and stderr, from which a program's `closeSync(1)` is made good after its execution. */
const spares = { 1: reopen(1, 'w'), 2: reopen(2, 'w') };

/** Called between executions: 0 to 2 must be open, or the next file that is opened would become somebody's stdout. */
export function mendDescriptors() {
  for (const fd of [0, 1, 2]) {
    if (isOpen(fd)) continue;
    // The lowest free number is taken, and all below are open.
    if (fd === 0) openSync('/dev/null', 'r');
    else if (spares[fd] !== undefined) openSync(`/proc/self/fd/${spares[fd]}`, 'w');
  }
}

function isOpen(fd) {
  try {
    fstatSync(fd);
    return true;
  } catch {
    return false;
  }
}

function reopen(fd, flags) {
  try {
    return openSync(`/proc/self/fd/${fd}`, flags);
  } catch {
    return undefined;
  }
}
