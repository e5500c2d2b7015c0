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
 * SECURITY: the only module of the CLI that writes to stdout and stderr; `test/architecture.test.ts` refuses every
 * other. So each byte that reaches a terminal has passed one of five filters, whether a program, a server, a file of a
 * project or Hotcell wrote the text.
 */
export interface Output {
  readonly isTTY: boolean;
  readonly colours: boolean;
  readonly paint: Paint;
  /** Writes lines of Hotcell's own. Control characters in quoted text are made visible, never executed. */
  say(text: string): Promise<void>;
  /** Like `say`, without a line end. */
  write(text: string): Promise<void>;
  /** Writes text of a program, or for a program: unchanged to a file or pipe, filtered to a terminal. */
  show(text: string): Promise<void>;
  /** Like `show`, for text that comes in pieces. */
  program(): ProgramOutput;
  /** Writes one JSON document, with every character visible. */
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

/** A terminal for the line editor and the spinner, which draw on it. */
export interface Screen extends Output {
  columns(): number;
  rows(): number;
  /** Writes text with the few cursor sequences that Hotcell uses (`drawnText`). */
  draw(text: string): Promise<void>;
  /** Writes the sequence that shows a picture. Refuses anything else. */
  picture(sequence: string): Promise<void>;
  /** The output of a program with its own pseudo-terminal, which may use the cursor (`raw-terminal-filter.ts`). */
  interactive(): ProgramOutput;
  /** Whether the last line was ended. */
  isAtLineStart(): boolean;
  onResize(act: () => void): Disposable;
}

export function standardOutputs(): Outputs {
  return { stdout: createOutput(process.stdout), stderr: createOutput(process.stderr) };
}

export interface OutputStream extends ColouredStream {
  readonly destroyed?: boolean;
  /** Returns false if the reader is behind; `drain` follows when it has caught up. */
  write(text: string): boolean;
  once(event: 'drain' | 'close', act: () => void): unknown;
  off(event: 'drain' | 'close', act: () => void): unknown;
}

/** An output that writes to `stream`, of the process or of a test. */
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
  // The process may exit before the end (Ctrl-C twice, SIGTERM).
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

/** stdout or stderr, if it is a terminal. */
export function standardScreen(name: 'stdout' | 'stderr' = 'stdout'): Screen {
  const stream = name === 'stdout' ? process.stdout : process.stderr;
  let last = '\n';
  // All writes pass here, so that it is known whether the last line was ended.
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
    // A terminal of unknown size reports undefined or zero.
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
 * Sends `console` and Node's warnings to `output`, quoted. SECURITY: libraries write there how a server named its
 * tools, formats and fields. Hotcell itself uses neither, so all of it is shown as a library's text. Stdout stays the
 * program's, or the protocol's.
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

/**
 * A stream for the prompt of a library, which draws it itself. SECURITY: only Hotcell's own text may be in the prompt.
 */
export function promptStream(): Writable {
  return process.stderr;
}

/** The streams of a protocol in JSON lines. At a terminal, every character of them is made visible. */
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

/**
 * Calls `act` when stdout cannot be written: its reader has gone (EPIPE), or the disk is full. Failures of stderr are
 * ignored.
 */
export function onBrokenStdout(act: (error: NodeJS.ErrnoException) => void): void {
  if (process.stderr.listenerCount('error') === 0) process.stderr.on('error', () => {});
  process.stdout.on('error', act);
}

/** Writes, and waits for a slow reader. Stops waiting when the reader has gone. */
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
