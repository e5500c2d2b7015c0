import { loadConfig, resolveDataDir } from '../../config/load.ts';
import { HotcellError, toHotcellError } from '../../errors/hotcell-error.ts';
import { errorText } from '../../errors/present.ts';
import { allLanguages, languageNamed } from '../../languages/table.ts';
import { packageVersion } from '../../lib/package-version.ts';
import { openHotcell, type Session } from '../../main.ts';
import { type Screen, standardScreen } from '../output.ts';
import { type RunFlags, runOptions, writableSources } from '../run/options.ts';
import { imageProtocol, isDumb } from '../terminal.ts';
import { commandIn, commandNames } from './commands.ts';
import { completionsFor } from './completions.ts';
import { continuationOf, submitted } from './continuation.ts';
import { createLineEditor } from './editor/line-editor.ts';
import { openHistory } from './history.ts';
import { createInterrupter } from './interrupter.ts';
import { createPictures } from './pictures.ts';
import { showExecution } from './show.ts';
import { closeOnSignals } from './signals.ts';

export interface ReplFlags
  extends Pick<
    RunFlags,
    'language' | 'isolation' | 'minIsolation' | 'timeout' | 'memory' | 'cpus' | 'mount' | 'image'
  > {
  readonly figures?: string;
}

/** A session at a terminal: reads code, runs it and shows its output until Ctrl-D. Returns the exit code. */
export async function repl(flags: ReplFlags): Promise<number> {
  const screen = standardScreen();
  requireTerminal(screen);
  const options = runOptions(flags);
  const config = loadConfig(options.hotcell);
  const language = languageNamed(allLanguages(config.recipes), flags.language ?? 'python').name;
  // The user can interrupt code that takes too long.
  const timeoutMs = options.timeoutMs ?? config.maxTimeoutMs;
  const history = await openHistory(resolveDataDir(), language);
  const writable = writableSources(options);
  using pictures = createPictures(flags.figures, writable);
  const images = imageProtocol();
  const { say } = screen;
  const interrupter = createInterrupter((text) => void say(screen.paint('yellow', text)));
  const opening = openHotcell(options.hotcell);
  // Set up before the session is open, because opening already leaves traces on the host that a signal must remove.
  using signals = closeOnSignals(async () => (await opening).close());
  await using hotcell = await opening;
  let session = await hotcell.open(options.open);
  signals.onInterrupt = interrupter.interrupt;
  using editor = createLineEditor({
    input: process.stdin,
    screen,
    history: history.entries,
    continuationOf: (text) => (commandIn(text) === undefined ? continuationOf(text, language) : { kind: 'run' }),
    complete: (text, cursor) => completionsFor(session, text, cursor, { language, commands: commandNames() }),
    onInterrupt: interrupter.interrupt,
  });
  signals.beforeExit = () => editor[Symbol.dispose]();

  await say(banner(session, language, screen));
  for (let number = 1; ; ) {
    const typed = await editor.read(promptsFor(number, screen));
    if (typed === undefined) break;
    await history.add(typed.trimEnd());
    const code = submitted(typed);
    if (code.trim() === '') continue;
    const command = commandIn(code);
    if (command?.name === 'exit') break;
    try {
      if (command !== undefined) {
        await command.run({ session, language, writable, say, paint: screen.paint, width: screen.columns() });
      } else {
        const execution = session.run(code, {
          language,
          timeoutMs,
          filename: `<In [${number}]>`,
          signal: interrupter.begin(),
        });
        number += 1;
        await showExecution(execution, number - 1, { screen, images, pictures });
      }
    } catch (thrown) {
      await say(screen.paint('red', errorText(thrown)));
      session = await replacedAfter(thrown, session);
    } finally {
      interrupter.end();
    }
    await say('');
  }
  signals.onInterrupt = undefined; // from here on Ctrl-C ends the process
  const folder = pictures.folder();
  if (folder !== undefined) await say(screen.paint('dim', `Pictures stay in ${folder}.`));
  return 0;

  /** Replaces a session that cannot go on by a new one, and says so. */
  async function replacedAfter(thrown: unknown, lost: Session): Promise<Session> {
    if (toHotcellError(thrown).retry !== 'new-session') return lost;
    await lost.close().catch(() => {});
    const opened = await hotcell.open(options.open);
    await say(screen.paint('yellow', 'hotcell: a new session was opened; variables and files are gone.'));
    return opened;
  }
}

function requireTerminal({ isTTY }: Screen): void {
  if (process.stdin.isTTY && isTTY && !isDumb()) return;
  const what = isDumb() ? 'a terminal that can move its cursor (TERM is dumb)' : 'a terminal';
  throw new HotcellError('invalid_argument', `repl: needs ${what}`, {
    remedy: "Run a program instead: echo 'print(6 * 7)' | hotcell run -",
  });
}

function promptsFor(number: number, { paint }: Screen) {
  const text = `In [${number}]: `;
  const next = '...: '.padStart(text.length);
  return { first: paint('green', text), next: paint('green', next), width: text.length };
}

function banner({ isolation }: Session, language: string, { paint }: Screen): string {
  const { driver, level, passedOver } = isolation;
  const weaker =
    passedOver.length === 0 ? '' : `; not ${passedOver.map((other) => other.driver).join(', ')}, see hotcell doctor`;
  return paint(
    'dim',
    `Hotcell ${packageVersion()} · ${language} · ${driver} (level ${level}${weaker}) · %help for help, Ctrl-D to close`,
  );
}
