import { readFileSync } from 'node:fs';

/**
 * Milliseconds for which this thread has had a processor: for tests of how much work something is, whatever else the machine does. Linux counts them, to a
 * few milliseconds; elsewhere it is the time that has passed.
 */
export function threadMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6;
  } catch {
    return performance.now();
  }
}

/**
 * Starts to measure the work of this thread; the function that it returns tells it in milliseconds of an ordinary machine. On a slower one, or one whose
 * cores are shared, a loop of known length takes longer by the same factor, so that a limit is about the work and not about the machine.
 */
export function startCost(): () => number {
  const before = slowness();
  const begin = threadMs();
  return () => (threadMs() - begin) / Math.max(1, before, slowness());
}

const LOOP = Buffer.alloc(262_144, 'x\n');
/** Time of the loop on the machine that the limits of tests are stated for. */
const ORDINARY_LOOP_MS = 0.25;
const LOOPS = 4;
const LOOP_COUNTS_MS = 100;
let last = { slowness: 1, at: Number.NEGATIVE_INFINITY };

/** How many times longer than on an ordinary machine the loop takes now: the fastest of a few turns, none of which is long enough to be interrupted each time. */
function slowness(): number {
  if (performance.now() - last.at < LOOP_COUNTS_MS) return last.slowness;
  let least = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < LOOPS; turn += 1) {
    const begin = performance.now();
    countLines(LOOP);
    least = Math.min(least, performance.now() - begin);
  }
  last = { slowness: least / ORDINARY_LOOP_MS, at: performance.now() };
  return last.slowness;
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] === 10) lines += 1;
  return lines;
}
