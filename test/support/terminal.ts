import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import headless from '@xterm/headless';

/** A program on a terminal, as a person has it: what is typed goes in, and what stands on the screen can be read. */
export interface TerminalProgram {
  type(text: string): void;
  /** Resolves when the screen, with what has scrolled off it, fits. Rejects with the screen where it does not in time. */
  see(expected: string | RegExp, timeoutMs?: number): Promise<void>;
  /** Gives the terminal another size, as a person who drags its window. */
  resize(columns: number, rows: number): Promise<void>;
  /** All that was shown, as the terminal shows it: lines without the spaces at their ends. */
  screen(): string;
  /** Everything the program wrote, escape sequences and all. */
  written(): string;
  /** The program's own process. */
  pid(): Promise<number>;
  /** Its exit code. */
  readonly ended: Promise<number>;
  kill(): void;
}

export function startOnTerminal(
  command: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv; columns?: number; rows?: number },
): TerminalProgram {
  const { columns = 80, rows = 24 } = options;
  const bridge = new URL('on_terminal.py', import.meta.url).pathname;
  const child: ChildProcess = spawn('python3', [bridge, String(columns), String(rows), ...command], {
    cwd: options.cwd,
    env: { ...options.env, TERM: options.env.TERM ?? 'xterm-256color' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const terminal = new headless.Terminal({ cols: columns, rows, scrollback: 1_000, allowProposedApi: true });
  const written: string[] = [];
  const waiting = new Set<() => void>();
  let isLookWanted = false;
  // Not at every piece: a flood would then be slowed down by whoever looks at it.
  const wantLook = () => {
    if (isLookWanted) return;
    isLookWanted = true;
    setTimeout(() => {
      isLookWanted = false;
      for (const look of waiting) look();
    }, 20);
  };
  child.stdin!.on('error', () => {});
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    written.push(text);
    terminal.write(text, wantLook);
  });
  const pid = once(child.stderr!, 'data').then(([data]) => Number(String(data).split('\n')[0]));
  const ended = once(child, 'close').then(([code]) => code as number);

  function screen(): string {
    const { active } = terminal.buffer;
    const lines = Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? '');
    return lines.join('\n').replace(/\n+$/, '');
  }

  return {
    type: (text) => child.stdin!.write(text),
    screen,
    resize: async (columns, rows) => {
      terminal.resize(columns, rows);
      const device = readlinkSync(`/proc/${await pid}/fd/0`);
      execFileSync('stty', ['-F', device, 'cols', String(columns), 'rows', String(rows)]);
    },
    written: () => written.join(''),
    pid: () => pid,
    ended,
    kill: () => child.kill('SIGKILL'),
    see: (expected, timeoutMs = 20_000) =>
      new Promise((resolve, reject) => {
        const fits = () => (typeof expected === 'string' ? screen().includes(expected) : expected.test(screen()));
        const look = () => {
          if (!fits()) return;
          clearTimeout(timer);
          waiting.delete(look);
          resolve();
        };
        const timer = setTimeout(() => {
          waiting.delete(look);
          reject(new Error(`not seen: ${expected}\n--- the screen\n${screen()}\n---`));
        }, timeoutMs);
        waiting.add(look);
        look();
      }),
  };
}
