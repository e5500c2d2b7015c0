import type { ReadStream } from 'node:tty';

/** Puts a terminal into raw mode: every key goes to the program, Ctrl-C included. It is given back when this is disposed of, or when the process exits. */
export function enterRawMode(input: Pick<ReadStream, 'setRawMode'>): Disposable {
  const enter = () => void input.setRawMode(true);
  const leave = () => {
    process.off('exit', leave).off('SIGCONT', enter);
    input.setRawMode(false);
  };
  enter();
  // Whoever stopped us with SIGSTOP has given the terminal back to a shell, which sets it as it wants it.
  process.once('exit', leave).on('SIGCONT', enter);
  return { [Symbol.dispose]: leave };
}
