import type { ReadStream } from 'node:tty';

/**
 * Puts a terminal into raw mode: every key goes to the program, Ctrl-C included. It is restored on disposal, or when
 * the process exits.
 */
export function enterRawMode(input: Pick<ReadStream, 'setRawMode'>): Disposable {
  const enter = () => void input.setRawMode(true);
  const leave = () => {
    process.off('exit', leave).off('SIGCONT', enter);
    input.setRawMode(false);
  };
  enter();
  // After SIGSTOP the shell has taken the terminal and set its own mode.
  process.once('exit', leave).on('SIGCONT', enter);
  return { [Symbol.dispose]: leave };
}
