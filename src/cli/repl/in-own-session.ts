import { loadConfig } from '../../config/load.ts';
import { toHotcellError } from '../../errors/hotcell-error.ts';
import { allLanguages, languageNamed } from '../../languages/table.ts';
import { packageVersion } from '../../lib/package-version.ts';
import { openHotcell, type Session } from '../../main.ts';
import type { Screen } from '../output.ts';
import { runOptions, writableSources } from '../run/options.ts';
import type { ReplFlags } from './flags.ts';
import { createInterrupter } from './interrupter.ts';
import { readAndRun } from './loop.ts';
import { closeOnSignals } from './signals.ts';

/** The REPL in a new sandbox, which is deleted with it. */
export async function replInOwnSession(flags: ReplFlags, screen: Screen): Promise<number> {
  const options = runOptions(flags);
  const config = loadConfig(options.hotcell);
  const language = languageNamed(allLanguages(config.recipes), flags.language ?? 'python').name;
  const { say } = screen;
  const interrupter = createInterrupter((text) => void say(screen.paint('yellow', text)));
  const opening = openHotcell(options.hotcell);
  // Set up before the session is open, because opening already leaves traces on the host that a signal must remove.
  using signals = closeOnSignals(async () => (await opening).close());
  await using hotcell = await opening;
  let session = await hotcell.open(options.open);
  signals.onInterrupt = interrupter.interrupt;
  await readAndRun({
    ...{ screen, interrupter, language, figures: flags.figures, writable: writableSources(options) },
    // The user can interrupt code that takes too long.
    timeoutMs: options.timeoutMs ?? config.maxTimeoutMs,
    banner: banner(session, language, screen),
    session: () => session,
    onEditor: (editor) => {
      signals.beforeExit = () => editor[Symbol.dispose]();
    },
    onError: async (thrown) => {
      if (toHotcellError(thrown).retry !== 'new-session') return;
      await session.close().catch(() => {});
      session = await hotcell.open(options.open);
      await say(screen.paint('yellow', 'hotcell: a new session was opened; variables and files are gone.'));
    },
  });
  signals.onInterrupt = undefined; // from here on Ctrl-C ends the process
  return 0;
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
