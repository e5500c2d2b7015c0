import { resolveDataDir } from '../../config/load.ts';
import { errorText } from '../../errors/present.ts';
import type { Screen } from '../output.ts';
import type { Writable } from '../part-below.ts';
import { imageProtocol } from '../terminal.ts';
import { commandIn } from './commands.ts';
import { completionsFor } from './completions.ts';
import { continuationOf, submitted } from './continuation.ts';
import { createLineEditor, type LineEditor } from './editor/line-editor.ts';
import { openHistory } from './history.ts';
import type { Interrupter } from './interrupter.ts';
import { createPictures } from './pictures.ts';
import type { ReplSession } from './session.ts';
import { showExecution } from './show.ts';

export interface LoopOptions {
  readonly screen: Screen;
  readonly interrupter: Interrupter;
  readonly language: string;
  /** By default that of the session. */
  readonly timeoutMs?: number;
  /** Folder for images; by default a temporary one. */
  readonly figures: string | undefined;
  /** Folders of the host that the sandbox can write to. */
  readonly writable: Writable;
  readonly banner: string;
  /** The session for the next input. */
  session(): ReplSession;
  /** Called once, before the first prompt. */
  onEditor(editor: LineEditor): void;
  /** Called after an error of Hotcell, which has been shown. */
  onError?(thrown: unknown): Promise<void>;
}

/** Reads code at the prompt, runs it in the session and shows its output, until the user leaves. */
export async function readAndRun(options: LoopOptions): Promise<void> {
  const { screen, interrupter, language, timeoutMs, writable, session } = options;
  const { say } = screen;
  const history = await openHistory(resolveDataDir(), language);
  using pictures = createPictures(options.figures, writable);
  const images = imageProtocol();
  using editor = createLineEditor({
    input: process.stdin,
    screen,
    language,
    history: history.entries,
    continuationOf: (text) => (commandIn(text) === undefined ? continuationOf(text, language) : { kind: 'run' }),
    complete: (text, cursor) => completionsFor(session(), text, cursor, language),
    onInterrupt: interrupter.interrupt,
  });
  options.onEditor(editor);
  await say(options.banner);
  let number = 1;
  let draft = '';
  for (;;) {
    const typed = await editor.read(promptsFor(number, screen), draft);
    draft = '';
    if (typed === undefined) break;
    await history.add(typed.trimEnd());
    const code = submitted(typed);
    if (code.trim() === '') continue;
    const command = commandIn(code);
    if (command?.name === 'exit') break;
    try {
      if (command !== undefined) {
        await command.run({
          ...{ session: session(), language, writable, say, paint: screen.paint, width: screen.columns() },
          ...{ edit, runCode },
        });
      } else await runCode(code, `<In [${number}]>`);
    } catch (thrown) {
      await say(screen.paint('red', errorText(thrown)));
      await options.onError?.(thrown);
    } finally {
      interrupter.end();
    }
    await say('');
  }
  const folder = pictures.folder();
  if (folder !== undefined) await say(screen.paint('dim', `Pictures stay in ${folder}.`));

  function edit(text: string): void {
    draft = text;
  }

  async function runCode(code: string, filename: string): Promise<void> {
    const execution = session().run(code, {
      ...{ language, filename, signal: interrupter.begin() },
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    number += 1;
    await showExecution(execution, number - 1, { screen, images, pictures });
  }
}

function promptsFor(number: number, { paint }: Screen) {
  const text = `In [${number}]: `;
  const next = '...: '.padStart(text.length);
  return { first: paint('green', text), next: paint('green', next), width: text.length };
}
