const tasks = new Set();

/**
 * Runs `task` when the measurement is over, however it ends: done, failed, Ctrl-C, or the parent gone. Returns a
 * function that runs it now.
 */
export function afterwards(task) {
  const once = async () => {
    if (tasks.delete(once)) await task();
  };
  tasks.add(once);
  return once;
}

let ending;

/**
 * Runs all tasks once; later calls wait for the first. Ctrl-C reaches a process twice, from the terminal and through
 * its parent.
 */
export function cleanUp() {
  ending ??= (async () => {
    for (const task of [...tasks].reverse()) {
      await task().catch((error) => process.stderr.write(`clean-up: ${error.message}\n`));
    }
  })();
  return ending;
}

/** Cleans up when this process is told to end. */
export function cleanUpOnSignals() {
  const end = async (exitCode) => {
    await cleanUp();
    process.exit(exitCode);
  };
  process.once('SIGINT', () => end(130));
  process.once('SIGTERM', () => end(143));
  process.once('disconnect', () => end(0));
}
