const tasks = new Set();

/** Runs `task` when the measurement is over, however it ends: done, failed, Ctrl-C, or the parent gone. Gives a function that runs it now. */
export function afterwards(task) {
  const once = async () => {
    if (tasks.delete(once)) await task();
  };
  tasks.add(once);
  return once;
}

let ending;

/** Whoever asks second waits for the first: a Ctrl-C reaches a process twice, from the terminal and through its parent. */
export function cleanUp() {
  ending ??= (async () => {
    for (const task of [...tasks].reverse()) {
      await task().catch((error) => process.stderr.write(`clean-up: ${error.message}\n`));
    }
  })();
  return ending;
}

/** Leaves nothing behind when this process is told to end. */
export function cleanUpOnSignals() {
  const end = async (exitCode) => {
    await cleanUp();
    process.exit(exitCode);
  };
  process.once('SIGINT', () => end(130));
  process.once('SIGTERM', () => end(143));
  process.once('disconnect', () => end(0));
}
