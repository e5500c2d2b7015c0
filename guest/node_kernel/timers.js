import { setMaxListeners } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import { promisify } from 'node:util';

const { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } = globalThis;
const { assign, defineProperty } = Object;
const { apply } = Reflect;
const { AbortController } = globalThis;

/**
 * Remembers the timers that an execution starts, so that an interrupt can stop an asynchronous loop: nobody can end a promise, but one whose timer is
 * gone never goes on. What is awaited through `timers/promises` fails with an AbortError. Node's own timers are not touched: those of the
 * module `timers`, which its sockets and servers use, are left as they are.
 */
export function installTimers() {
  let started = [];
  let count = 0;
  let abort = quietController();

  const remember = (timer, clear) => {
    if (count > 1_000 && count === started.length) prune();
    started[count++] = { timer, clear };
    return timer;
  };
  /** Those that have fired are forgotten, so that a long program does not gather them. */
  const prune = () => {
    const live = [];
    let kept = 0;
    for (let index = 0; index < count; index += 1) {
      if (!started[index].timer._destroyed) live[kept++] = started[index];
    }
    started = live;
    started.length = kept * 2; // room until the next time
    count = kept;
  };
  const remembering = (start, clear) =>
    function startTimer() {
      // biome-ignore lint/complexity/noArguments: a rest parameter would go by the iterator of arrays, which a program may have changed
      return remember(apply(start, undefined, arguments), clear);
    };
  const wrapped = {
    setTimeout: remembering(setTimeout, clearTimeout),
    setInterval: remembering(setInterval, clearInterval),
    setImmediate: remembering(setImmediate, clearImmediate),
  };
  const waiting = (original, place) => (first, second, third) => {
    const given = place === 2 ? third : second;
    const options = { signal: abort.signal, ...given };
    return place === 2 ? original(first, second, options) : original(first, options);
  };
  const promises = {
    setTimeout: waiting(timersPromises.setTimeout, 2),
    setImmediate: waiting(timersPromises.setImmediate, 1),
    setInterval: waiting(timersPromises.setInterval, 2),
  };
  for (const name of ['setTimeout', 'setImmediate']) {
    defineProperty(wrapped[name], promisify.custom, { enumerable: true, value: promises[name] });
  }
  for (const name of ['setTimeout', 'setInterval', 'setImmediate']) {
    defineProperty(wrapped[name], 'name', { value: name });
  }
  assign(globalThis, wrapped);
  assign(timersPromises, promises);
  syncBuiltinESMExports();
  return {
    soon: setImmediate,
    begin() {
      started = [];
      count = 0;
    },
    /** Stops every timer that was started since `begin`. */
    stop() {
      for (let index = 0; index < count; index += 1) started[index].clear(started[index].timer);
      started = [];
      count = 0;
      abort.abort();
      abort = quietController();
    },
  };
}

/** However many sleepers listen to it: Node would warn of more than ten. */
function quietController() {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
