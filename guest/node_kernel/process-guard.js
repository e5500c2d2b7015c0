import process from 'node:process';

const { reallyExit } = process;
const { wait } = Atomics;
const { defineProperty } = Object;

/**
 * Keeps the kernel alive where a script would end: what nobody caught, `process.exit`, and the signals that interrupt. Not by listeners, which
 * `process.removeAllListeners()` would take away, wherever Node has another way.
 */
export function guardProcess(evaluator, link) {
  const emit = process.emit.bind(process);
  const listenerCount = process.listenerCount.bind(process);
  process.setUncaughtExceptionCaptureCallback((error) => {
    if (listenerCount('uncaughtException') > 0) emit('uncaughtException', error, 'uncaughtException');
    else evaluator.uncaught(error);
  });
  const parked = new Int32Array(new SharedArrayBuffer(4));
  defineProperty(process, 'reallyExit', {
    configurable: true,
    writable: true,
    value: function leave(code) {
      // With nothing running it is a background task that wants the process to end, and it gets that.
      if (!evaluator.leave(code)) reallyExit.call(process, code);
      link.send({ kind: 'leaving' });
      for (;;) wait(parked, 0, 0); // until the link thread has V8 end whatever runs here
    },
  });
  keepSignals();
  process.execArgv = [];
}

/**
 * The group's SIGINT is for the program's children, and SIGUSR1 would open the debugger's port. Node watches a signal from its first listener to its last, by
 * two listeners of its own; these two are watched for good, with whatever listeners the program has.
 */
function keepSignals() {
  const watch = process.listeners('newListener').find(({ name }) => name === 'startListeningIfSignal');
  const unwatch = process.listeners('removeListener').find(({ name }) => name === 'stopListeningIfSignal');
  if (watch === undefined || unwatch === undefined) {
    for (const signal of ['SIGINT', 'SIGUSR1']) process.on(signal, () => {});
    return;
  }
  process.removeListener('removeListener', unwatch);
  process.on('removeListener', (name) => {
    if (name !== 'SIGINT' && name !== 'SIGUSR1') unwatch(name);
  });
  watch('SIGINT');
  watch('SIGUSR1');
}
