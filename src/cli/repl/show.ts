import type { Display } from '../../execution/result.ts';
import { tracebackText } from '../../execution/traceback-parts.ts';
import { saidByServer } from '../../lib/said-inside.ts';
import { outcomeSentence } from '../../sandbox/outcome-table.ts';
import type { Screen } from '../output.ts';
import { displayText } from '../run/displays.ts';
import { refusedText } from '../run/ending.ts';
import type { ImageProtocol } from '../terminal.ts';
import { shownText } from '../terminal-filter.ts';
import { inlineSequence, type Pictures } from './pictures.ts';
import type { ReplExecution, ReplResult } from './session.ts';

/**
 * Where and how an execution is shown. Writes resolve when the terminal has taken them, so that a flood gets
 * backpressure.
 */
export interface Place {
  readonly screen: Screen;
  readonly images: ImageProtocol | undefined;
  readonly pictures: Pictures;
}

/** Maximum of updated displays, equal to the maximum of displays in a result. */
const MOST_UPDATED = 1_000;
const MOST_NOTES = 20;

/**
 * Shows an execution while it runs, and then its value and outcome. SECURITY: all output of the sandbox is filtered
 * before it reaches the terminal.
 */
export async function showExecution(
  execution: ReplExecution,
  number: number,
  { screen, images, pictures }: Place,
): Promise<ReplResult> {
  const printed = createPrinter(screen);
  const updated = new Set<string>();
  try {
    for await (const event of execution) {
      if (event.kind === 'stdout' || event.kind === 'stderr') await printed.output(event.kind, event.text);
      else if (event.kind === 'display') {
        // A progress bar is updated a thousand times; only its last state is shown.
        if (!event.update || event.id === undefined) await showDisplay(event);
        else if (updated.size < MOST_UPDATED) updated.add(event.id);
      }
    }
  } catch (error) {
    await printed.end();
    throw error;
  }
  const result = await execution;
  for (const display of result.displays)
    if (display.id !== undefined && updated.has(display.id)) await showDisplay(display);
  if (result.value !== undefined) {
    const { text, truncated } = result.value;
    const label = `${screen.paint('red', `Out[${number}]:`)}${text.includes('\n') ? '\n' : ' '}`;
    await printed.program(`${text}${truncated ? ' …' : ''}`, label);
    await showPicture(result.value);
  }
  await printed.end();
  for (const line of endLines(result, screen)) await printed.line(line);
  return result;

  async function showDisplay(display: Display): Promise<void> {
    const text = displayText(display);
    if (text !== '') await printed.program(text.replace(/\n$/, ''));
    else await showPicture(display, true);
  }

  async function showPicture(display: Display, anyKind = false): Promise<void> {
    const isPicture = display.representations.some(({ mediaType }) => mediaType.startsWith('image/'));
    if (!isPicture && !anyKind) return;
    const inline = inlineSequence(display, images);
    if (inline !== undefined) {
      await printed.end();
      await screen.picture(inline);
    }
    try {
      const path = await pictures.save(display);
      if (path !== undefined) await printed.line(`${screen.paint('dim', 'written to')} ${path}`);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      await printed.line(screen.paint('yellow', `hotcell: the image could not be written (${code ?? message}).`));
    }
  }
}

interface Printer {
  output(source: 'stdout' | 'stderr', text: string): Promise<void>;
  /** Writes a line of Hotcell's own, after ending an unfinished line. */
  line(text: string): Promise<void>;
  /** Writes a complete text of the program as lines of their own, after a label. */
  program(text: string, label?: string): Promise<void>;
  end(): Promise<void>;
}

function createPrinter(screen: Screen): Printer {
  const outputs = { stdout: screen.program(), stderr: screen.program() };

  async function end(): Promise<void> {
    await outputs.stdout.end();
    await outputs.stderr.end();
    if (!screen.isAtLineStart()) await screen.write('\n');
  }

  return {
    output: (source, text) => outputs[source].push(text),
    line: async (text) => {
      await end();
      await screen.say(text);
    },
    program: async (text, label = '') => {
      await end();
      await screen.write(label);
      await screen.show(text);
      await screen.write('\n');
    },
    end,
  };
}

/** Lines about an outcome that is not success, and about lost state. */
function endLines(result: ReplResult, screen: Screen): string[] {
  const { outcome, state, files, restarted, notes = [] } = result;
  const said = (text: string) => screen.paint('yellow', `hotcell: ${text}`);
  const lost =
    files === 'lost'
      ? 'variables and files are lost; continuing in a new sandbox.'
      : state === 'lost'
        ? 'variables are lost; files are kept.'
        : undefined;
  return [
    ...(restarted === undefined ? [] : [said(`restarted (${shownText(restarted)}).`)]),
    ...outcomeLines(outcome, screen, said),
    ...(lost === undefined ? [] : [said(lost)]),
    ...(result.network === undefined ? [] : [screen.paint('yellow', refusedText(result.network))]),
    ...((result.truncation?.displaysDropped ?? 0) > 0 ? [said('displays were omitted: too large.')] : []),
    ...notes.slice(0, MOST_NOTES).map((note) => said(saidByServer(note))),
  ];
}

function outcomeLines(outcome: ReplResult['outcome'], screen: Screen, said: (text: string) => string): string[] {
  if (outcome.kind === 'interrupted') return [screen.paint('red', 'KeyboardInterrupt')];
  if (outcome.kind === 'raised') {
    return shownText(tracebackText(outcome), screen)
      .split('\n')
      .map((line) => (line.startsWith(outcome.name) ? screen.paint('red', line) : line))
      .concat(outcome.hint === undefined ? [] : screen.paint('green', `→ ${shownText(outcome.hint)}`));
  }
  const sentence = outcomeSentence(outcome);
  if (sentence === undefined) return [];
  return [said(`${shownText(sentence)}.${outcome.kind === 'out-of-memory' ? ' Set a larger --memory.' : ''}`)];
}
