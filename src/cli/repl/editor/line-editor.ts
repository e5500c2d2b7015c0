import type { Key } from 'node:readline';
import type { ReadStream } from 'node:tty';
import { type Deferred, deferred } from '../../../lib/deferred.ts';
import type { Screen } from '../../output.ts';
import type { Continuation } from '../continuation.ts';
import { atEnd, type Buffer, down, EMPTY, insert, lineBefore, replaceBefore, up } from './buffer.ts';
import { type Completion, columnsOf, commonStart } from './completion.ts';
import { changeOf } from './keymap.ts';
import { listenForKeys, type Stroke } from './keys.ts';
import { layOut, type Prompts } from './layout.ts';
import { createWalk } from './walk.ts';

export interface EditorOptions {
  readonly input: ReadStream;
  readonly screen: Pick<Screen, 'draw' | 'columns' | 'rows' | 'onResize' | 'isAtLineStart'>;
  history(): readonly string[];
  continuationOf(text: string): Continuation;
  complete(text: string, cursor: number): Promise<Completion>;
  /** Called for Ctrl-C while no text is being read, to interrupt the running code. */
  onInterrupt(): void;
}

/**
 * Reads text of one or more lines from a terminal. Keys typed while no text is being read are kept for the next read.
 */
export interface LineEditor extends Disposable {
  /** Resolves with the text; undefined at Ctrl-D, or when the terminal is gone. */
  read(prompts: Prompts): Promise<string | undefined>;
  /** Writes lines above the text that is being typed, which is drawn again below them. */
  above(write: () => Promise<void>): Promise<void>;
}

/** Maximum of keys kept ahead of the prompt. */
const MOST_AHEAD = 10_000;
const PASTE_MARKS = { on: '\x1b[?2004h', off: '\x1b[?2004l' };

export function createLineEditor({ input, screen, ...options }: EditorOptions): LineEditor {
  let reading: { prompts: Prompts; done: Deferred<string | undefined> } | undefined;
  let ahead: Stroke[] = [];
  let buffer: Buffer = EMPTY;
  let cursorRow = 0;
  let isDrawWanted = false;
  let writing: Promise<void> | undefined;
  let isEnded = false;
  const walk = createWalk(options.history);
  const keys = listenForKeys(input, receive, () => {
    isEnded = true;
    finish(undefined);
  });
  const resizes = screen.onResize(wantDraw);

  function receive(stroke: Stroke): void {
    if (reading === undefined) {
      if (stroke.kind === 'key' && stroke.key.ctrl && stroke.key.name === 'c') {
        ahead = [];
        options.onInterrupt();
      } else if (ahead.length < MOST_AHEAD) ahead.push(stroke);
    } else if (stroke.kind === 'paste') change(insert(buffer, stroke.text));
    else press(stroke.text, stroke.key);
  }

  function press(text: string, key: Key): void {
    if (key.ctrl && !key.meta) {
      if (key.name === 'c') return clear();
      if (key.name === 'd' && buffer.text === '') return finish(undefined);
      if (key.name === 'l') return clearScreen();
      if (key.name === 'p') return recall(walk.older(buffer.text));
      if (key.name === 'n') return recall(walk.newer());
      if (key.name === 'r') return recall(walk.containing(buffer.text));
    } else if (!key.meta) {
      if (key.name === 'return' || key.name === 'enter') return enter();
      if (key.name === 'tab') return void complete();
      if (key.name === 'up') return go(up(buffer), () => walk.older(buffer.text));
      if (key.name === 'down') return go(down(buffer), walk.newer);
    }
    const changed = changeOf(text, key)?.(buffer);
    if (changed !== undefined) change(changed);
  }

  function change(next: Buffer): void {
    if (next.text !== buffer.text) walk.forget();
    buffer = next;
    wantDraw();
  }

  function go(moved: Buffer | undefined, elsewhere: () => string | undefined): void {
    if (moved === undefined) return recall(elsewhere());
    buffer = moved;
    wantDraw();
  }

  function recall(entry: string | undefined): void {
    if (entry === undefined) return;
    buffer = atEnd(entry);
    wantDraw();
  }

  function enter(): void {
    const isAtEnd = buffer.text.slice(buffer.cursor).trim() === '';
    if (buffer.text.includes('\n') && !isAtEnd) return change(insert(buffer, '\n'));
    const next = options.continuationOf(buffer.text);
    if (next.kind === 'run') return finish(buffer.text);
    change(insert(buffer, isAtEnd ? `\n${next.indent}` : '\n'));
  }

  async function complete(): Promise<void> {
    if (lineBefore(buffer).trim() === '') return change(insert(buffer, '    '));
    const asked = buffer;
    const { from, matches } = await options.complete(asked.text, asked.cursor).catch(() => ({ from: 0, matches: [] }));
    // The user has typed on, or run the text, meanwhile.
    if (reading === undefined || buffer !== asked || matches.length === 0) return;
    const piece = matches.length === 1 ? matches[0]! : commonStart(matches);
    if (piece.length > asked.cursor - from) return change(replaceBefore(asked, from, piece));
    if (matches.length > 1) showBelow(columnsOf(matches, screen.columns()));
  }

  function showBelow(text: string): void {
    drawAt({ ...buffer, cursor: buffer.text.length });
    void screen.draw(`\r\n${text}\r\n`);
    cursorRow = 0;
    wantDraw();
  }

  /** Handles Ctrl-C at the prompt: drops the text and shows a new prompt. */
  function clear(): void {
    drawAt({ ...buffer, cursor: buffer.text.length });
    void screen.draw('^C\r\n');
    cursorRow = 0;
    walk.forget();
    buffer = EMPTY;
    wantDraw();
  }

  function clearScreen(): void {
    void screen.draw('\x1b[2J\x1b[H');
    cursorRow = 0;
    wantDraw();
  }

  function finish(text: string | undefined): void {
    if (reading === undefined) return;
    drawAt({ ...buffer, cursor: buffer.text.length });
    void screen.draw(`${PASTE_MARKS.off}\r\n`);
    const { done } = reading;
    reading = undefined;
    done.resolve(text);
  }

  /** Schedules one redraw for all keys that arrived together. */
  function wantDraw(): void {
    if (isDrawWanted) return;
    isDrawWanted = true;
    queueMicrotask(() => {
      isDrawWanted = false;
      if (reading !== undefined && writing === undefined) drawAt(buffer);
    });
  }

  function drawAt(shown: Buffer): void {
    if (reading === undefined) return;
    const layout = layOut(shown, reading.prompts, { columns: screen.columns(), rows: screen.rows() });
    const back = upBy(layout.endRow - layout.cursorRow);
    void screen.draw(`${upBy(cursorRow)}\r\x1b[J${layout.text}${back}\r${rightBy(layout.cursorColumn)}`);
    cursorRow = layout.cursorRow;
  }

  return {
    read(prompts) {
      if (isEnded) return Promise.resolve(undefined);
      const done = deferred<string | undefined>();
      reading = { prompts, done };
      buffer = EMPTY;
      cursorRow = 0;
      walk.forget();
      void screen.draw(PASTE_MARKS.on);
      drawAt(buffer);
      const strokes = ahead;
      ahead = [];
      for (const stroke of strokes) receive(stroke);
      return done.promise;
    },
    async above(write) {
      while (writing !== undefined) await writing;
      if (reading !== undefined) void screen.draw(`${upBy(cursorRow)}\r\x1b[J`);
      else if (!screen.isAtLineStart()) void screen.draw('\r\n');
      cursorRow = 0;
      const written = write();
      writing = written.catch(() => {});
      await writing;
      writing = undefined;
      if (reading !== undefined) drawAt(buffer);
      await written;
    },
    [Symbol.dispose]: () => {
      resizes[Symbol.dispose]();
      keys[Symbol.dispose]();
      void screen.draw(PASTE_MARKS.off);
    },
  };
}

function upBy(rows: number): string {
  return rows > 0 ? `\x1b[${rows}A` : '';
}

function rightBy(columns: number): string {
  return columns > 0 ? `\x1b[${columns}C` : '';
}
