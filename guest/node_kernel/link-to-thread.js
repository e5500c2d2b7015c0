import process from 'node:process';
import { Worker } from 'node:worker_threads';

const { load, wait } = Atomics;
const { kill, pid } = process;

/** Starts the link thread, and is the main thread's way to it. Messages arrive in the order in which they are sent. */
export function createLink(source, program) {
  const drained = new Int32Array(new SharedArrayBuffer(4));
  const cancelled = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(source, {
    eval: true,
    name: 'hotcell',
    // Only what it needs of its own; what it prints would be the user's output.
    stdout: true,
    stderr: true,
    execArgv: [],
    workerData: { drained, cancelled, program },
    resourceLimits: { maxOldGenerationSizeMb: 128, codeRangeSizeMb: 32, stackSizeMb: 4 },
  });
  // Without it nothing could be said any more, nor stopped.
  const die = () => kill.call(process, pid, 'SIGKILL');
  worker.on('error', die);
  worker.on('exit', die);
  const post = worker.postMessage.bind(worker);
  let turns = 0;
  return {
    send: (message) => post(message),
    die,
    onMessage: (listener) => worker.on('message', listener),
    /** Comes back when the supervisor has taken all that was written so far. */
    drain() {
      turns += 1;
      const turn = turns;
      post({ kind: 'drain', turn });
      for (let seen = load(drained, 0); seen < turn; seen = load(drained, 0)) wait(drained, 0, seen);
    },
    /** Whether the execution was called off before it began. */
    isCancelled: () => load(cancelled, 0) === 1,
  };
}
