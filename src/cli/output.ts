import { Console } from 'node:console';
import { Transform, Writable } from 'node:stream';
import { visibleJson } from '../lib/visible-json.ts';
import { type Paint, painterFor } from './print.ts';
import { createRawTerminalFilter } from './raw-terminal-filter.ts';
import { type ColouredStream, wantsColours } from './terminal.ts';
import {
  createTerminalFilter,
  drawnText,
  isPictureSequence,
  ownText,
  shownText,
  type TerminalFilter,
} from './terminal-filter.ts';

/**
 * SECURITY: the one module of the CLI that writes to stdout and stderr; `test/architecture.test.ts` refuses every other. So each byte that comes to a
 * terminal has passed one of five filters, whoever wrote the text: a program, a server, a file of a project, or we.
 */
export interface Output {
  readonly isTTY: boolean;
  readonly colours: boolean;
  readonly paint: Paint;
  /** Lines of Hotcell's own. Strangers' words in them are shown, and never obeyed. */
  say(text: string): Promise<void>;
  /** The same without a line end. */
  write(text: string): Promise<void>;
  /** Text that is a program's, or meant for one: a file or a pipe gets it as it is, a terminal what it may show. */
  show(text: string): Promise<void>;
  /** The same for text that comes in pieces. */
  program(): ProgramOutput;
  /** One JSON document, in which every character can be seen. */
  json(value: unknown, options?: { indent: number }): Promise<void>;
}

export interface ProgramOutput {
  push(text: string): Promise<void>;
  end(): Promise<void>;
}

export interface Outputs {
  readonly stdout: Output;
  readonly stderr: Output;
}

/** A terminal on which things are drawn: the line editor's and the spinner's. */
export interface Screen extends Output {
  columns(): number;
  rows(): number;
  /** Text with the few moves of the cursor that we make (`drawnText`). */
  draw(text: string): Promise<void>;
  /** The sequence that shows a picture. Anything else is refused. */
  picture(sequence: string): Promise<void>;
  /** The output of a program with a pseudo-terminal of its own, which draws as it likes (`raw-terminal-filter.ts`). */
  interactive(): ProgramOutput;
  /** Whether the last line that was written has been ended. */
  isAtLineStart(): boolean;
  onResize(act: () => void): Disposable;
}

export function standardOutputs(): Outputs {
  return { stdout: createOutput(process.stdout), stderr: createOutput(process.stderr) };
}

export interface OutputStream extends ColouredStream {
  readonly destroyed?: boolean;
  /** False where the reader is behind: `drain` tells when it is not any more. */
  write(text: string): boolean;
  once(event: 'drain' | 'close', act: () => void): unknown;
  off(event: 'drain' | 'close', act: () => void): unknown;
}

/** An output that writes to `stream`: one of the process's, or a test's. */
export function createOutput(stream: OutputStream): Output {
  const isTTY = stream.isTTY === true;
  const colours = wantsColours(stream);
  const put = (text: string) => writeAll(stream, text);
  const write = (text: string) => put(ownText(text, { colours }));
  return {
    isTTY,
    colours,
    paint: painterFor(stream),
    write,
    say: (text) => write(`${text}\n`),
    show: (text) => put(isTTY ? shownText(text, { colours }) : text),
    program() {
      if (!isTTY) return { push: put, end: async () => {} };
      return filteredProgram(stream, createTerminalFilter({ colours }));
    },
    json: (value, { indent } = { indent: 2 }) => put(`${visibleJson(JSON.stringify(value, null, indent))}\n`),
  };
}

function filteredProgram(stream: OutputStream, filter: TerminalFilter): ProgramOutput {
  // Ctrl-C twice, SIGTERM: the process may exit before anybody comes to the end.
  const reset = () => void stream.write(filter.end());
  return {
    push: (text) => {
      process.off('exit', reset).once('exit', reset);
      return writeAll(stream, filter.push(text));
    },
    end: () => {
      process.off('exit', reset);
      return writeAll(stream, filter.end());
    },
  };
}

/** stdout or stderr, where it is a terminal. */
export function standardScreen(name: 'stdout' | 'stderr' = 'stdout'): Screen {
  const stream = name === 'stdout' ? process.stdout : process.stderr;
  let last = '\n';
  // All that is written passes here, so that it is known whether the last line was ended.
  const watched: OutputStream = {
    isTTY: stream.isTTY,
    hasColors: () => stream.hasColors(),
    get destroyed() {
      return stream.destroyed;
    },
    write: (text: string) => {
      last = text.replaceAll(/\x1b\[[\d;:]*m/g, '').at(-1) ?? last;
      return stream.write(text);
    },
    once: (event, act) => stream.once(event, act),
    off: (event, act) => stream.off(event, act),
  };
  const output = createOutput(watched);
  return {
    ...output,
    // A terminal that does not say its size says nothing, or zero.
    columns: () => stream.columns || 80,
    rows: () => stream.rows || 24,
    draw: (text) => writeAll(watched, drawnText(text, output)),
    picture: (sequence) => (isPictureSequence(sequence) ? writeAll(watched, sequence) : output.write(sequence)),
    interactive: () => filteredProgram(watched, createRawTerminalFilter()),
    isAtLineStart: () => last === '\n',
    onResize: (act) => {
      stream.on('resize', act);
      return { [Symbol.dispose]: () => void stream.off('resize', act) };
    },
  };
}

/**
 * Sends `console` and the warnings of Node to `output`, quoted. SECURITY: libraries write there what a server named its tools, formats and fields. Nothing of
 * ours uses either, so whatever comes is told as a library's words. Stdout stays the program's, or the protocol's.
 */
export function routeConsole(output: Pick<Output, 'say'>): Disposable {
  const original = globalThis.console;
  const listeners = process.listeners('warning');
  const tell = (text: string) => {
    const said = text.trimEnd().slice(0, LONGEST_LIBRARY_MESSAGE).toWellFormed();
    return output.say(`hotcell: a library says: ${visibleJson(JSON.stringify(said))}`);
  };
  const stream = new Writable({
    decodeStrings: false,
    write: (text: string | Buffer, _, done) => void tell(String(text)).then(() => done(), done),
  });
  const warn = (warning: Error) => void tell(`${warning.name}: ${warning.message}`);
  globalThis.console = new Console({ stdout: stream, stderr: stream, colorMode: false });
  process.removeAllListeners('warning').on('warning', warn);
  return {
    [Symbol.dispose]: () => {
      globalThis.console = original;
      process.off('warning', warn);
      for (const listener of listeners) process.on('warning', listener);
    },
  };
}

const LONGEST_LIBRARY_MESSAGE = 2_000;

/** For a question of a library's own, which draws it itself: no text but ours may be in it. */
export function promptStream(): Writable {
  return process.stderr;
}

/** The streams of a protocol in JSON lines. A person who starts it at a terminal sees every character of them. */
export function protocolStreams(): { stdin: NodeJS.ReadStream; stdout: Writable } {
  const { stdin, stdout } = process;
  if (!stdout.isTTY) return { stdin, stdout };
  const visible = new Transform({
    decodeStrings: false,
    transform: (text: string | Buffer, _, done) => done(null, visibleJson(String(text))),
  });
  visible.pipe(stdout);
  return { stdin, stdout: visible };
}

/** Tells of a stdout that cannot be written: its reader has gone (EPIPE), or the disk is full. stderr is nobody's loss. */
export function onBrokenStdout(act: (error: NodeJS.ErrnoException) => void): void {
  if (process.stderr.listenerCount('error') === 0) process.stderr.on('error', () => {});
  process.stdout.on('error', act);
}

/** Writes and, where the reader is behind, waits for it. Stops waiting when there is none any more. */
function writeAll(stream: OutputStream, text: string): Promise<void> {
  if (text === '' || stream.destroyed || stream.write(text)) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.once('drain', done);
    stream.once('close', done);
  });
}
