/**
 * The main thread of a JavaScript kernel: the user's code runs here, in this realm, and may change anything in it. So this side is small, keeps its
 * own references to what it calls, and leaves text and protocol to the link thread.
 */
import { createCalls } from './calls.js';
import { openDisplay } from './display.js';
import { createEvaluator } from './evaluate.js';
import { defineGlobals } from './globals.js';
import { createLink } from './link-to-thread.js';
import { changeVariables } from './network-variables.js';
import { installOutput } from './output.js';
import { guardProcess } from './process-guard.js';
import { installTimers } from './timers.js';

// The boot script calls this file as a function of `require` and `kernel`.
const { importer, linkSource, program } = kernel;

setImmediate(() => {
  const link = createLink(linkSource, program);
  const output = installOutput(link);
  const timers = installTimers();
  const calls = createCalls();
  defineGlobals({ importer, display: openDisplay(link, output), calls });
  const evaluator = createEvaluator({ link, timers, output, calls });
  guardProcess(evaluator, link);
  link.onMessage((message) => {
    if (message.kind === 'execute') evaluator.execute(message);
    else if (message.kind === 'give-up') evaluator.giveUp();
    else if (message.kind === 'environment') changeVariables(message.variables);
  });
  link.send({ kind: 'up' });
});
