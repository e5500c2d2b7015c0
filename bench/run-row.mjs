import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('row-process.mjs', import.meta.url));
const limitMs = 15 * 60_000;
// Node 20 reads the file of certificates that this variable names at every start: it would measure that file.
const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;

/** Measures in a fresh process. Rejects if that fails, is aborted or takes too long, and leaves nothing behind. */
export function runRow(name, context, { signal }) {
  const child = fork(program, { execArgv: ['--expose-gc'], env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  return new Promise((resolve, reject) => {
    let answer = { error: 'the process ended without an answer' };
    const end = () => child.kill('SIGTERM');
    const timer = setTimeout(() => {
      answer = { error: `not done after ${limitMs / 60_000} minutes` };
      end();
    }, limitMs);
    signal.addEventListener('abort', end, { once: true });
    child.once('message', (message) => {
      answer = message;
    });
    child.once('close', () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      if (answer.rows !== undefined) resolve(answer.rows);
      else if (answer.notTried !== undefined) resolve([{ what: name, notTried: answer.notTried }]);
      else reject(new Error(answer.error));
    });
    child.send({ name, context });
  });
}
