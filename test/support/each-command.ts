import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../../src/lib/ids.ts';

/** A program of Node's that runs many command lines of the built program in one process: most of the time of a short one goes into starting Node. */
export const EACH_COMMAND = new URL('each-command.mjs', import.meta.url).pathname;

export interface CommandLine {
  readonly args: readonly string[];
  /** On top of the environment that all of them have. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface ListedCommands extends Disposable {
  /** The second argument of the program; the first is the built program. */
  readonly file: string;
  /** What each of them wrote, of what all of them wrote to one output. */
  split(written: string): { readonly text: string; readonly exitCode: number }[];
}

export function listCommands(commands: readonly CommandLine[]): ListedCommands {
  const folder = mkdtempSync(join(tmpdir(), 'hc-commands-'));
  const mark = newId('mark');
  const file = join(folder, 'commands.json');
  writeFileSync(file, JSON.stringify({ mark, commands }));
  return {
    file,
    split: (written) => {
      const pieces = written.split(new RegExp(`${mark} (\\d+)\\r?\\n`));
      return commands.flatMap((_, index) => {
        const [text, code] = pieces.slice(2 * index, 2 * index + 2);
        return text === undefined || code === undefined ? [] : [{ text, exitCode: Number(code) }];
      });
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
