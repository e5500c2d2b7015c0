import type { WatchLine } from '../../http/watch-lines.ts';
import { createFoldedOutput } from '../../lib/folded-output.ts';
import { saidByServer } from '../../lib/said-inside.ts';
import type { Outcome } from '../../sandbox/outcome.ts';
import { outcomeSentence } from '../../sandbox/outcome-table.ts';
import type { Screen } from '../output.ts';
import { quotedOutcome } from '../run/ending.ts';
import { shownText } from '../terminal-filter.ts';

/** Shows what others run in a session that the user has joined. */
export interface WatchedRuns {
  /** The next own execution, once its id is known. Nothing is shown until then, so that it is not shown twice. */
  ownRun(asking: Promise<string | undefined>): void;
  /** Shows a line of the server. `above` writes above the prompt, if there is one. */
  show(line: WatchLine, above: (write: () => Promise<void>) => Promise<void>): Promise<void>;
}

interface Followed {
  readonly language: string;
  /** Output without a line end yet. */
  rest: string;
}

/** SECURITY: bounds on what a hostile server makes us keep, and on what one execution may put on the screen at once. */
const MOST_FOLLOWED = 100;
const MOST_OWN = 1_000;
const MOST_REST_CHARS = 10_000;
const MOST_CODE_LINES = 30;

export function createWatchedRuns(screen: Pick<Screen, 'paint' | 'show' | 'write' | 'say'>): WatchedRuns {
  const followed = new Map<string, Followed>();
  const own = new Set<string>();
  let asked: Promise<unknown> = Promise.resolve();
  let current: string | undefined;

  /** SECURITY: each line stands behind a mark, so that nobody takes it for a line of Hotcell. */
  async function lines(texts: readonly string[], put: (line: string) => Promise<void>): Promise<void> {
    for (const text of texts) {
      await screen.write(screen.paint('dim', '│ '));
      await put(text);
      await screen.write('\n');
    }
  }

  const printed = (texts: readonly string[]) => lines(texts.flatMap(lastState), screen.show);

  async function head(id: string, { language }: Followed): Promise<void> {
    if (current === id) return;
    current = id;
    await screen.say(screen.paint('dim', `┌ ${inWords(language)}`));
  }

  async function write(id: string, run: Followed, line: WatchLine): Promise<void> {
    const { asked: source, stdout, stderr, display, value, ended, error } = line;
    if (source !== undefined) {
      await head(id, run);
      // SECURITY: `\r` ends a line of code, too, and would hide what stands before it on the screen.
      const code = source.code.trimEnd().split(/\r\n|\r|\n/);
      const more = code.length > MOST_CODE_LINES ? [`… ${code.length - MOST_CODE_LINES} more lines`] : [];
      await lines([...code.slice(0, MOST_CODE_LINES), ...more], screen.write);
      await screen.say(screen.paint('dim', '├'));
    }
    const text = stdout ?? stderr ?? (display?.text === undefined ? undefined : `${display.text}\n`);
    if (text !== undefined) await output(id, run, text);
    if (value !== undefined) await output(id, run, `${value}\n`);
    if (ended === undefined && error === undefined) return;
    if (run.rest !== '') await output(id, run, '\n');
    followed.delete(id);
    await head(id, run);
    if (ended !== undefined) await end(ended.outcome as Outcome);
    else await screen.say(screen.paint('dim', `└ ${saidByServer(JSON.stringify(error))}`));
    current = undefined;
  }

  /** Whole lines only, because others, and the user, write between them. */
  async function output(id: string, run: Followed, text: string): Promise<void> {
    const parts = `${run.rest}${text}`.split('\n');
    run.rest = parts.pop()!;
    if (run.rest.length > MOST_REST_CHARS) {
      parts.push(run.rest);
      run.rest = '';
    }
    if (parts.length === 0) return;
    await head(id, run);
    await printed(parts);
  }

  async function end(outcome: Outcome): Promise<void> {
    if (outcome.kind === 'raised') {
      await printed(outcome.traceback.slice(-MOST_CODE_LINES).join('\n').split('\n'));
      return screen.say(screen.paint('dim', `└ ${inWords(outcome.name)}`));
    }
    const sentence = outcomeSentence(quotedOutcome(outcome)) ?? outcome.kind;
    await screen.say(screen.paint('dim', `└ ${inWords(sentence)}`));
  }

  return {
    ownRun(asking) {
      asked = asking.then((id) => {
        if (id === undefined) return;
        own.add(id);
        if (own.size > MOST_OWN) own.delete([...own][0]!);
      });
    },
    async show(line, above) {
      await asked;
      if (line.closed) return above(() => screen.say(screen.paint('yellow', 'hotcell: the session was closed.')));
      if (line.omitted) return above(() => screen.say(screen.paint('dim', '… output was omitted')));
      const id = line.execution_id;
      if (id === undefined || own.has(id)) return;
      if (line.asked !== undefined && followed.size < MOST_FOLLOWED) {
        followed.set(id, { language: line.asked.language, rest: '' });
      }
      const run = followed.get(id);
      if (run !== undefined) await above(() => write(id, run, line));
    },
  };
}

/**
 * The last state of a line that a progress bar rewrote. SECURITY: `\r` and `\b` would move the cursor over the mark. A
 * line that had to be cut has three lines.
 */
function lastState(line: string): string[] {
  if (!/[\r\b]/.test(line)) return [line];
  const folded = createFoldedOutput({ headBytes: MOST_REST_CHARS * 4, tailBytes: 0 });
  folded.push(Buffer.from(line));
  return folded.text().split('\n');
}

function inWords(text: string): string {
  return shownText(text).replaceAll(/\s+/g, ' ');
}
