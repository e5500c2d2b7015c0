import type { Key } from 'node:readline';
import type { ReadStream } from 'node:tty';
import { type Deferred, deferred } from '../../../lib/deferred.ts';
import type { Screen } from '../../output.ts';
import { reflowOf } from '../../terminal.ts';
import type { Continuation } from '../continuation.ts';
import { atEnd, type Buffer, down, EMPTY, insert, lineBefore, replaceBefore, up } from './buffer.ts';
import { type Completion, commonStart } from './completion.ts';
import { highlighted } from './highlight.ts';
import { changeOf } from './keymap.ts';
import { listenForKeys, type Stroke } from './keys.ts';
import { type Looks, layOut, type Prompts, rowAfterResize } from './layout.ts';
import { chosenIn, type Menu, menuLines, moveInMenu, openMenu } from './menu.ts';
import { beginSearch, foundBy, type Search, searchFurther } from './search.ts';
import { keyInSearch, searchPrompts } from './search-keys.ts';
import { shownSuggestion, suggestionFor } from './suggestion.ts';
import { createWalk } from './walk.ts';

export interface EditorOptions {
  readonly input: ReadStream;
  readonly screen: Pick<Screen, 'draw' | 'columns' | 'rows' | 'onResize' | 'isAtLineStart' | 'paint' | 'colours'>;
  /** The language of the text, for its colours. */
  readonly language: string;
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
  /** Resolves with the text; undefined at Ctrl-D, or when the terminal is gone. `draft`: what stands there at first. */
  read(prompts: Prompts, draft?: string): Promise<string | undefined>;
  /** Writes lines above the text that is being typed, which is drawn again below them. */
  above(write: () => Promise<void>): Promise<void>;
}

/** Maximum of keys kept ahead of the prompt. */
const MOST_AHEAD = 10_000;
/** Maximum of rows of a menu. */
const MENU_ROWS = 8;
const PASTE_MARKS = { on: '\x1b[?2004h', off: '\x1b[?2004l' };

export function createLineEditor({ input, screen, language, ...options }: EditorOptions): LineEditor {
  let reading: { prompts: Prompts; done: Deferred<string | undefined> } | undefined;
  let ahead: Stroke[] = [];
  let buffer: Buffer = EMPTY;
  let search: Search | undefined;
  let menu: Menu | undefined;
  /** Whether the text was typed, and not recalled: only then is its rest suggested. */
  let isTyped = false;
  let drawn: { buffer: Buffer; prompts: Prompts; columns: number } | undefined;
  let cursorRow = 0;
  let isDrawWanted = false;
  let writing: Promise<void> | undefined;
  let isEnded = false;
  const walk = createWalk(options.history);
  const keys = listenForKeys(input, receive, () => {
    isEnded = true;
    finish(undefined);
  });
  const resizes = screen.onResize(() => {
    const size = { after: screen.columns(), rows: screen.rows() };
    if (drawn !== undefined) {
      cursorRow = rowAfterResize(drawn.buffer, drawn.prompts, { ...size, before: drawn.columns }, reflowOf());
    }
    wantDraw();
  });

  function receive(stroke: Stroke): void {
    if (reading === undefined) {
      if (stroke.kind === 'key' && stroke.key.ctrl && stroke.key.name === 'c') {
        ahead = [];
        options.onInterrupt();
      } else if (ahead.length < MOST_AHEAD) ahead.push(stroke);
    } else if (stroke.kind === 'paste') {
      settle();
      change(insert(buffer, stroke.text));
    } else press(stroke.text, stroke.key);
  }

  function press(text: string, key: Key): void {
    if (search !== undefined && pressInSearch(text, key)) return;
    if (menu !== undefined && pressInMenu(key)) return;
    if (key.ctrl && !key.meta) {
      if (key.name === 'c') return clear();
      if (key.name === 'd' && buffer.text === '') return finish(undefined);
      if (key.name === 'l') return clearScreen();
      if (key.name === 'p') return recall(walk.older(buffer.text));
      if (key.name === 'n') return recall(walk.newer());
      if (key.name === 'r') return look(beginSearch(buffer, options.history()));
    } else if (!key.meta) {
      if (key.name === 'return' || key.name === 'enter') return enter();
      if (key.name === 'tab') return void complete();
      if (key.name === 'up') return go(up(buffer), () => walk.older(buffer.text));
      if (key.name === 'down') return go(down(buffer), walk.newer);
    }
    if (takesSuggestion(key)) {
      const rest = suggestion();
      if (rest !== '') return change(insert(buffer, rest));
    }
    const changed = changeOf(text, key)?.(buffer);
    if (changed !== undefined) change(changed);
  }

  /** Whether the key belonged to the search. Any other ends the search and edits what was found. */
  function pressInSearch(text: string, key: Key): boolean {
    const current = search!;
    const next = keyInSearch(current, text, key);
    if (next === 'further') look(searchFurther(current));
    else if (typeof next === 'object') look(next);
    else {
      search = undefined;
      buffer = next === 'cancel' ? current.draft : foundBy(current);
      isTyped = false;
      if (next === 'run' && current.at < current.entries.length) finish(buffer.text);
      else wantDraw();
      return next === 'cancel' || next === 'take' || reading === undefined;
    }
    return true;
  }

  /** Whether the key belonged to the menu. Any other closes it and keeps what was chosen. */
  function pressInMenu(key: Key): boolean {
    const current = menu!;
    const isPlain = !key.ctrl && !key.meta;
    const by = !isPlain ? undefined : STEPS[`${key.shift ? 'shift-' : ''}${key.name}`];
    const isLeft = key.name === 'escape' || (key.ctrl && key.name === 'g');
    if (by !== undefined) menu = moveInMenu(current, by);
    else menu = undefined;
    if (isLeft) buffer = current.draft;
    else if (by !== undefined) buffer = chosenIn(menu!);
    wantDraw();
    return by !== undefined || isLeft || (isPlain && key.name === 'return' && current.chosen !== undefined);
  }

  function look(next: Search): void {
    search = next;
    wantDraw();
  }

  /** Ends a search or a menu with what it shows. */
  function settle(): void {
    if (search !== undefined) buffer = foundBy(search);
    search = undefined;
    menu = undefined;
  }

  function suggestion(): string {
    return screen.colours && isTyped && menu === undefined ? suggestionFor(buffer, options.history()) : '';
  }

  function change(next: Buffer): void {
    if (next.text !== buffer.text) {
      walk.forget();
      isTyped = true;
    }
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
    isTyped = false;
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
    if (matches.length > 1) menu = openMenu(asked, { from, matches });
    wantDraw();
  }

  /** Handles Ctrl-C at the prompt: drops the text and shows a new prompt. */
  function clear(): void {
    leave('^C\r\n');
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
    leave(`${PASTE_MARKS.off}\r\n`);
    const { done } = reading;
    reading = undefined;
    done.resolve(text);
  }

  /** Draws the text for the last time, with nothing around it, and goes below it. */
  function leave(ending: string): void {
    settle();
    isTyped = false;
    walk.forget();
    drawAt({ ...buffer, cursor: buffer.text.length });
    void screen.draw(ending);
    cursorRow = 0;
    drawn = undefined;
  }

  /**
   * Schedules one redraw for all keys that arrived together. It waits for a second turn of the event loop, because Node
   * handles signals after input, and at times one turn later: a redraw for the size before a resize would be left on the
   * screen.
   */
  function wantDraw(): void {
    if (isDrawWanted) return;
    isDrawWanted = true;
    setImmediate(() =>
      setImmediate(() => {
        isDrawWanted = false;
        if (reading !== undefined && writing === undefined) draw();
      }),
    );
  }

  function draw(): void {
    const rest = search === undefined ? shownSuggestion(suggestion()) : '';
    const shown = search === undefined ? buffer : foundBy(search);
    drawAt(shown, rest);
  }

  function drawAt(shown: Buffer, rest = ''): void {
    if (reading === undefined) return;
    const size = { columns: screen.columns(), rows: screen.rows() };
    const prompts = search === undefined ? reading.prompts : searchPrompts(search, size.columns, screen.paint);
    const whole = { text: shown.text + rest, cursor: shown.cursor };
    const layout = layOut(whole, prompts, size, looksOf(shown.text, rest, size));
    const back = upBy(layout.endRow - layout.cursorRow);
    // Erased behind the prompt and not before it: tmux keeps a copy of what is erased from its first cell.
    const head = layout.text.startsWith(prompts.first) ? prompts.first : prompts.next;
    const text = `${head}\x1b[J${layout.text.slice(head.length)}`;
    void screen.draw(`${upBy(cursorRow)}\r${text}${back}\r${rightBy(layout.cursorColumn)}`);
    cursorRow = layout.cursorRow;
    drawn = { buffer: whole, prompts, columns: size.columns };
  }

  function looksOf(text: string, rest: string, size: { columns: number; rows: number }): Looks {
    const rows = Math.max(Math.min(MENU_ROWS, size.rows - 3), 1);
    const below = menu === undefined ? [] : menuLines(menu, { ...size, rows }, marked);
    if (!screen.colours) return { below };
    const painted = highlighted(text, language, screen.paint);
    if (rest !== '') painted[painted.length - 1] += screen.paint('dim', rest);
    return { painted, below };
  }

  function marked(name: string): string {
    return screen.colours ? screen.paint('reverse', name) : `[${name}]`;
  }

  return {
    read(prompts, draft = '') {
      if (isEnded) return Promise.resolve(undefined);
      const done = deferred<string | undefined>();
      reading = { prompts, done };
      buffer = atEnd(draft);
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
      if (reading !== undefined) void screen.draw(`${upBy(cursorRow)}\r \x1b[J\r`);
      else if (!screen.isAtLineStart()) void screen.draw('\r\n');
      cursorRow = 0;
      const written = write();
      writing = written.catch(() => {});
      await writing;
      writing = undefined;
      if (reading !== undefined) draw();
      await written;
    },
    [Symbol.dispose]: () => {
      resizes[Symbol.dispose]();
      keys[Symbol.dispose]();
      void screen.draw(PASTE_MARKS.off);
    },
  };
}

/** Keys that move in a menu. */
const STEPS: Readonly<Record<string, 1 | -1 | undefined>> = {
  ...{ tab: 1, down: 1, right: 1 },
  ...{ 'shift-tab': -1, up: -1, left: -1 },
};

/** Right and End, as in fish and zsh. */
function takesSuggestion({ name, ctrl, meta }: Key): boolean {
  if (meta) return false;
  return ctrl ? name === 'e' || name === 'f' : name === 'right' || name === 'end';
}

function upBy(rows: number): string {
  return rows > 0 ? `\x1b[${rows}A` : '';
}

function rightBy(columns: number): string {
  return columns > 0 ? `\x1b[${columns}C` : '';
}
