import { Session } from 'node:inspector';
import process from 'node:process';
import util from 'node:util';
import v8 from 'node:v8';
import { describe, show } from './describe.js';
import { createNames } from './names.js';

const { isPromise } = util.types;
const { onInit } = v8.promiseHooks;
const { apply } = Reflect;
const { keys } = Object;
const { env } = process;
const { then } = Promise.prototype;

/**
 * Runs one piece of code at a time as V8's own console does: declared names live on and can be declared again, `await` works at the top, and the
 * value of the last expression is the result.
 */
export function createEvaluator({ link, timers, output, calls }) {
  let session = connect();
  let current;
  const names = createNames();
  names.begin(session);

  return {
    execute({ code, failure, environment }) {
      const execution = { ending: false, settled: false, awaited: false, promise: undefined, place: undefined };
      execution.restoreVariables = setVariables(environment);
      current = execution;
      output.begin();
      timers.begin();
      if (failure !== undefined) settle(execution, failure);
      else if (link.isCancelled()) giveUp();
      else evaluate(execution, code);
    },
    giveUp,
    /** An exception that nobody caught ends the program that still waits, and is a line on stderr after it. */
    uncaught(error) {
      if (current === undefined || (current.ending && current.outcome.kind !== 'ok')) {
        link.send({ kind: 'complaint', error: describe(error) });
      } else if (current.ending) {
        current.outcome = describe(error);
      } else {
        end(current, describe(error));
      }
    },
    /** `process.exit`: says whether there is an execution that it ends. */
    leave(code) {
      if (current === undefined) return false;
      current.exitCode = code ?? 0;
      return true;
    },
  };

  function evaluate(execution, code) {
    // V8 wraps the code into an async function and tells its result by number only. The first promise that is made is that function's.
    const stop = onInit((promise) => {
      stop();
      execution.promise = promise;
    });
    const options = { expression: code, replMode: true, awaitPromise: true, silent: true };
    session.post('Runtime.evaluate', options, (error, answer) => {
      if (error !== null) ended(execution);
      else if (answer.exceptionDetails !== undefined) failed(execution, answer.exceptionDetails);
    });
    stop();
    if (execution.promise !== undefined) {
      follow(execution, execution.promise, (box) => box['.repl_result']);
    }
  }

  function follow(execution, promise, unwrap) {
    const succeed = (result) => {
      const value = unwrap(result);
      if (execution !== current) return;
      if (isPromise(value) && !execution.awaited) {
        // A program whose last line is `main()` is not over before that is.
        execution.awaited = true;
        follow(execution, value, (inner) => inner);
      } else {
        settle(execution, { kind: 'ok' }, value);
      }
    };
    const fail = (error) => {
      if (execution === current) settle(execution, { ...describe(error), place: execution.place });
    };
    apply(then, promise, [succeed, fail]);
  }

  function settle(execution, outcome, value) {
    execution.settled = true;
    try {
      end(execution, outcome, value === undefined ? undefined : show(value));
    } catch (error) {
      end(execution, describe(error)); // the value's own way to be shown
    }
  }

  /**
   * V8 has ended it, on the link thread's word. Otherwise the inspector is gone: Node takes it down before a signal to itself that it thinks deadly, and a
   * kernel that survived that could run nothing any more.
   */
  function ended(execution) {
    if (execution !== current) return;
    if (execution.exitCode !== undefined || link.isCancelled()) giveUp();
    else link.die();
  }

  /** Where it failed, for what has no stack. Without a promise the code has not even begun: it does not parse. */
  function failed(execution, { lineNumber, columnNumber, exception, stackTrace }) {
    if (stackTrace === undefined) execution.place = { line: lineNumber, column: columnNumber };
    if (execution.promise !== undefined || execution !== current) return;
    const text = exception?.description ?? 'SyntaxError';
    const name = exception?.className ?? 'SyntaxError';
    const message = text.slice(name.length + 2).split('\n    at ')[0];
    settle(execution, { kind: 'raised', name, message, text, place: execution.place, unparsed: true });
  }

  /** Waits a turn of the event loop first: callbacks that are due, and what they print, still belong to this execution. */
  function end(execution, outcome, value) {
    if (execution !== current || execution.ending) return;
    execution.ending = true;
    execution.outcome = outcome;
    timers.soon(() => finish(execution, execution.outcome, value));
  }

  function finish(execution, outcome, value) {
    if (execution !== current) return;
    current = undefined;
    execution.restoreVariables();
    if (!execution.settled) reconnect();
    const added = names.added(session);
    const code = process.exitCode;
    process.exitCode = undefined;
    const exited = outcome.kind === 'ok' && code !== undefined && +code !== 0;
    link.send({
      kind: 'finished',
      outcome: exited ? { kind: 'exited', exitCode: +code & 255 } : outcome,
      value: outcome.kind === 'ok' ? value : undefined,
      added,
    });
  }

  function giveUp() {
    const execution = current;
    if (execution === undefined) return;
    timers.stop();
    calls.stop();
    if (execution.exitCode === undefined) return finish(execution, { kind: 'interrupted' });
    process._exiting = false;
    finish(execution, { kind: 'exited', exitCode: +execution.exitCode & 255 });
  }

  /** What still waits is abandoned. V8 would tell of its collection, by a call that it does not allow itself at that moment and dies of. */
  function reconnect() {
    session.disconnect();
    session = connect();
  }
}

/**
 * Sets environment variables for one execution. Returns the function that restores what was there before it. No method
 * of an array and no iterator: a program may have replaced them.
 */
function setVariables(wanted = {}) {
  const names = keys(wanted);
  const before = [];
  for (let index = 0; index < names.length; index += 1) {
    before[index] = env[names[index]];
    env[names[index]] = wanted[names[index]];
  }
  return () => {
    for (let index = 0; index < names.length; index += 1) {
      if (before[index] === undefined) delete env[names[index]];
      else env[names[index]] = before[index];
    }
  };
}

function connect() {
  const session = new Session();
  session.connect();
  return session;
}
