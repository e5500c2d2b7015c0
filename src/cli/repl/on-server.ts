import { loadConfig, tokenFromEnvironment } from '../../config/load.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { errorText } from '../../errors/present.ts';
import { allLanguages, languageNamed } from '../../languages/table.ts';
import { packageVersion } from '../../lib/package-version.ts';
import { quotedName } from '../../lib/said-inside.ts';
import { defaultServer } from '../default-server.ts';
import { listenForEndings } from '../ending-signals.ts';
import type { Screen } from '../output.ts';
import { durationMs } from '../run/options.ts';
import { connectRemote } from '../run/remote-hotcell.ts';
import { serverUrl } from '../run/server-errors.ts';
import { misbehaved } from '../run/server-requests.ts';
import type { LineEditor } from './editor/line-editor.ts';
import type { ReplFlags } from './flags.ts';
import { createInterrupter } from './interrupter.ts';
import { joinSession } from './joined-session.ts';
import { readAndRun } from './loop.ts';
import { createWatchedRuns } from './watched-runs.ts';

/**
 * The REPL in a session of a server, beside an agent that works in it. Shows what others run there. The session stays
 * open when the user leaves.
 */
export async function replOnServer(session: string, flags: ReplFlags, screen: Screen): Promise<number> {
  const config = loadConfig();
  // SECURITY: the token in the environment belongs to one server. Without `--server` it is not sent: any local program
  // can listen on the default port.
  const token = flags.token ?? (flags.server === undefined ? undefined : tokenFromEnvironment());
  const server = flags.server ?? (await defaultServer(config.port));
  const language = languageNamed(allLanguages(config.recipes), flags.language ?? 'python').name;
  const interrupter = createInterrupter((text) => void screen.say(screen.paint('yellow', text)));
  let editor: LineEditor | undefined;
  using _ = listenForEndings((_name, exitCode) => {
    editor?.[Symbol.dispose]();
    process.exit(exitCode); // the server ends what this client runs
  });
  await using remote = await connectRemote(server, token, packageVersion());
  const left = new AbortController();
  const lines = remote.watch(session, left.signal);
  const first = await lines.next();
  const place = first.done === true ? undefined : first.value.session;
  if (place === undefined) throw misbehaved(serverUrl(server), 'sent an invalid response');
  const watched = createWatchedRuns(screen);
  const joined = joinSession(remote, { server, session, onAsked: watched.ownRun });
  let watching: Promise<void> | undefined;
  await readAndRun({
    // SECURITY: the session may have mounts of this machine, and code in it may have put links there.
    ...{ screen, interrupter, language, figures: flags.figures, writable: 'unknown' },
    ...(flags.timeout === undefined ? {} : { timeoutMs: durationMs('--timeout', flags.timeout) }),
    banner: screen.paint(
      'dim',
      `Hotcell ${packageVersion()} · ${language} · session ${quotedName(session)} at ${serverUrl(server).origin} · ${quotedName(place.driver)} (level ${place.level}) · %help for help, Ctrl-D to leave`,
    ),
    session: () => joined,
    onEditor: (made) => {
      editor = made;
      watching = watch(made);
    },
  });
  left.abort();
  await watching;
  await screen.say(screen.paint('dim', 'The session stays open.'));
  return 0;

  async function watch(shownIn: LineEditor): Promise<void> {
    try {
      for await (const line of lines) await watched.show(line, shownIn.above);
    } catch (thrown) {
      if (left.signal.aborted) return;
      const why = thrown instanceof HotcellError ? errorText(thrown) : 'the connection was lost';
      await shownIn.above(() => screen.say(screen.paint('yellow', `hotcell: others are not shown any more: ${why}`)));
    }
  }
}
