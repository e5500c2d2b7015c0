/**
 * Answers about the live session (docs/guest-protocol.md, section 9), from what V8's inspector says of values: no getter, proxy or `inspect` of the user's
 * runs for them.
 */
import { completion } from './completion.js';
import { Refusal } from './refusal.js';
import { getVariable, listVariables } from './variables.js';

const ANSWERS = { complete: completion, 'variables.list': listVariables, 'variables.get': getVariable };
const GROUP = 'question';

export function createQuestions(session) {
  const defined = new Set();

  /** One request to the inspector of the main thread. */
  const ask = (method, parameters = {}) =>
    new Promise((resolve, reject) => {
      session.post(method, parameters, (error, answer) => (error === null ? resolve(answer) : reject(error)));
    });

  return {
    /** Names that an execution has added. */
    defined(names) {
      for (const name of names) defined.add(name);
    },
    /** `{ok: true, answer}` or `{ok: false, code, message}`, within the time. */
    async answer(kind, members, text, timeoutMs) {
      const make = ANSWERS[kind];
      if (make === undefined) return refused('not-offered', `${kind}: a JavaScript kernel does not answer that`);
      let timer;
      const tooLong = new Promise((resolve) => {
        timer = setTimeout(resolve, timeoutMs, refused('too-long', `${kind}: it took longer than ${timeoutMs} ms`));
      });
      try {
        return await Promise.race([tooLong, made(make, { ask, evaluate, defined, members, text, timeoutMs })]);
      } finally {
        clearTimeout(timer);
        session.post('Runtime.releaseObjectGroup', { objectGroup: GROUP }, () => {});
      }
    },
  };

  /** The value of an expression as the inspector describes it. What would change anything is refused by V8 itself. */
  async function evaluate(expression, timeoutMs) {
    const { result, exceptionDetails } = await ask('Runtime.evaluate', {
      expression,
      throwOnSideEffect: true,
      timeout: Math.max(1, timeoutMs - 50),
      objectGroup: GROUP,
      generatePreview: true,
      silent: true,
    });
    if (exceptionDetails === undefined) return result;
    throw new Refusal('raised', exceptionDetails.exception?.description?.split('\n')[0] ?? exceptionDetails.text);
  }
}

async function made(make, asked) {
  try {
    return { ok: true, answer: await make(asked) };
  } catch (error) {
    // V8 has ended what took too long, and says no more than that.
    const code = /terminated|Internal error/.test(error.message) ? 'too-long' : 'raised';
    return refused(error instanceof Refusal ? error.code : code, String(error.message));
  }
}

function refused(code, message) {
  return { ok: false, code, message };
}
