import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { root } from './dependencies.mjs';

/** Runs a program in the repository, on this terminal, and returns its exit code. */
export function run(program, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, stdio: 'inherit', ...options });
    // The user's Ctrl-C reaches the child too; it decides how to end, and this process follows.
    const wait = () => {};
    process.on('SIGINT', wait);
    // A process manager signals only this process, so the signal is forwarded. Otherwise the child would keep running.
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

/** Like `run`, but returns the output, and also shows it with `echo`. */
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
