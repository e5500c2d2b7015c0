import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { root } from './dependencies.mjs';

/** Runs a program in the repository, on this terminal, and answers with its exit code. */
export function run(program, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, stdio: 'inherit', ...options });
    // A person's Ctrl-C reaches the child too; it decides how to end, and this process follows.
    const wait = () => {};
    process.on('SIGINT', wait);
    // A supervisor's signals reach us alone: without the child's end ours would leave it running.
    const forward = (signal) => child.kill(signal);
    for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, forward);
    child.once('error', () => resolve(127));
    child.once('close', (code, signal) => {
      process.off('SIGINT', wait);
      for (const name of ['SIGTERM', 'SIGHUP']) process.off(name, forward);
      resolve(code ?? 128 + (constants.signals[signal] ?? 0));
    });
  });
}

/** As `run`, with the output kept and returned, and shown too where `echo` says so. */
export function capture(program, args, { echo = false, ...options } = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
        if (echo) process.stdout.write(text);
      });
    }
    child.once('error', (error) => resolve({ exitCode: 127, output: error.message }));
    child.once('close', (code) => resolve({ exitCode: code ?? 1, output }));
  });
}
