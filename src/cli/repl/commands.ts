import { HotcellError } from '../../errors/hotcell-error.ts';
import { sizeText } from '../../lib/units.ts';
import { notebookText } from '../../notebooks/write.ts';
import { holdFile } from '../named-file.ts';
import type { Writable } from '../part-below.ts';
import { type Paint, shownName } from '../print.ts';
import { readSource, type Source } from '../run/source.ts';
import { shownText } from '../terminal-filter.ts';
import { writeOutput } from '../write-output.ts';
import { cleanPaste } from './editor/keys.ts';
import type { ReplSession } from './session.ts';

/** The context of a command. */
export interface CommandContext {
  readonly session: ReplSession;
  readonly language: string;
  /** Folders of the host that the sandbox can write to. */
  readonly writable: Writable;
  readonly paint: Paint;
  /** Width of the terminal in columns. */
  readonly width: number;
  say(text: string): Promise<void>;
  /** Puts text at the next prompt, to be edited and run. */
  edit(text: string): void;
  /** Runs code as if it had been typed. */
  runCode(code: string, filename: string): Promise<void>;
}

export interface Command {
  readonly name: string;
  run(context: CommandContext): Promise<void>;
}

interface CommandEntry {
  /** The command as it is typed. */
  readonly usage: string;
  readonly help: string;
  run(context: CommandContext, words: readonly string[]): Promise<void>;
}

const MOST_FILES = 200;
const MOST_VARIABLES = 100;

/** Hotcell's own commands. Any other word with a `%` goes to the kernel. */
const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  vars: { usage: '%vars', help: 'list the variables', run: listVariables },
  files: { usage: '%files [folder]', help: 'list the files of the workspace', run: listFiles },
  reset: { usage: '%reset', help: 'delete the variables, kill all processes; keep the files', run: reset },
  save: { usage: '%save [-f] <file.ipynb>', help: 'save the session as a notebook', run: save },
  load: { usage: '%load <file>', help: 'put a file of this machine at the prompt, to edit and run', run: load },
  run: { usage: '%run <file>', help: 'run a file of this machine in the session', run: runFile },
  help: { usage: '%help', help: 'show this', run: help },
  exit: { usage: '%exit', help: 'close the session, as Ctrl-D does', run: async () => {} },
};

const EXITS = new Set(['exit', 'quit', 'exit()', 'quit()', '%quit', '%exit']);

/** The command in a text, if it is one of Hotcell's. */
export function commandIn(text: string): Command | undefined {
  const trimmed = text.trim();
  if (EXITS.has(trimmed)) return { name: 'exit', run: async () => {} };
  const [, asked] = trimmed.match(/^([\p{L}_$][\p{L}\p{N}_$.]*)\?$/u) ?? [];
  if (asked !== undefined) return { name: 'about', run: (context) => tellAbout(context, asked) };
  const [, name = '', rest = ''] = trimmed.match(/^%(\w+)(?:[ \t]([^\n]*))?$/) ?? [];
  if (!Object.hasOwn(COMMANDS, name)) return undefined;
  const entry = COMMANDS[name]!;
  return { name, run: (context) => entry.run(context, rest.split(/\s+/).filter(Boolean)) };
}

export function commandNames(): string[] {
  return Object.keys(COMMANDS).map((name) => `%${name}`);
}

/** `name?`: shows the type, signature and documentation of a name. */
async function tellAbout({ session, language, say, paint }: CommandContext, name: string): Promise<void> {
  const found = await session.inspect(name, { language, busy: 'refuse' });
  if (found === undefined) return say(`${name} is not defined.`);
  const parts: [string, string | undefined][] = [
    ['type', found.type],
    ['value', found.summary],
    ['signature', found.signature],
    ['file', found.file],
    ['doc', found.doc],
  ];
  const lines = parts.flatMap(([label, text]) => {
    if (text === undefined || text === '') return [];
    const safe = shownText(text);
    return [`${paint('green', `${label}:`)}${safe.includes('\n') ? '\n' : ' '}${safe}`];
  });
  await say(lines.join('\n'));
}

async function listVariables({ session, language, width, say, paint }: CommandContext): Promise<void> {
  const { variables, total } = await session.variables.list({ language, limit: MOST_VARIABLES, busy: 'refuse' });
  if (variables.length === 0) return say(paint('dim', 'No variables.'));
  const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const rows = variables.map(({ name, type, summary, shape, sizeBytes }) => [
    cut(shownText(name), 30),
    cut(shownText(type), 20),
    shape === undefined ? (sizeBytes === undefined ? '' : sizeText(sizeBytes)) : shape.join(' × '),
    shownText(summary).replaceAll(/\s+/g, ' '),
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  const room = Math.max(width - widths.reduce((sum, each) => sum + each + 2, 0), 20);
  const lines = rows.map(([name, type, size, summary]) =>
    `${name!.padEnd(widths[0]!)}  ${paint('dim', type!.padEnd(widths[1]!))}  ${paint('dim', size!.padStart(widths[2]!))}  ${cut(summary!, room)}`.trimEnd(),
  );
  await say([...lines, ...(total > rows.length ? [`… and ${total - rows.length} more`] : [])].join('\n'));
}

async function listFiles({ session, say, paint }: CommandContext, [folder = '.']: readonly string[]): Promise<void> {
  const { entries, omitted } = await session.files.list(folder, { recursive: true, limit: MOST_FILES });
  const files = entries.filter(({ kind }) => kind !== 'folder');
  if (files.length === 0) return say(paint('dim', 'No files.'));
  const sizes = files.map(({ sizeBytes }) => sizeText(sizeBytes));
  const width = Math.max(...sizes.map(({ length }) => length));
  const lines = files.map(({ path, kind }, index) => {
    const what = kind === 'file' ? '' : paint('dim', ` (${kind})`);
    return `${sizes[index]!.padStart(width)}  ${shownName(path)}${what}`;
  });
  await say([...lines, ...(omitted === 0 ? [] : [`… and ${omitted} more`])].join('\n'));
}

async function reset({ session, say, paint }: CommandContext): Promise<void> {
  await session.reset();
  await say(paint('dim', 'Variables are deleted; files are kept.'));
}

async function save({ session, writable, say, paint }: CommandContext, words: readonly string[]): Promise<void> {
  const [file, ...more] = words.filter((word) => word !== '-f');
  if (file === undefined || more.length > 0 || !file.endsWith('.ipynb')) {
    throw new HotcellError('invalid_argument', '%save: expects the name of one notebook', {
      remedy: 'For example: %save analysis.ipynb',
    });
  }
  const notebook = await session.exportNotebook();
  const overwrite = words.includes('-f');
  using place = holdFile(file, { otherwise: 'Nothing was written', writable });
  await writeOutput(place, notebookText(notebook), { overwrite }).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof HotcellError) throw error;
    const exists = error.code === 'EEXIST';
    const message = exists ? 'already exists' : `cannot be written (${error.code ?? error.message})`;
    throw new HotcellError('invalid_argument', `%save: ${file} ${message}`, {
      remedy: exists ? `Overwrite it with: %save -f ${file}` : 'Choose a file in a folder that you may write to.',
    });
  });
  await say(`${paint('dim', 'written to')} ${file} ${paint('dim', `(${notebook.cells.length} cells)`)}`);
}

async function load(context: CommandContext, words: readonly string[]): Promise<void> {
  const text = cleanPaste((await localFile('%load', words, context)).code).trimEnd();
  // SECURITY: code in a sandbox may have written the file. Enter would run its command on this machine.
  if (commandIn(text) !== undefined) {
    throw new HotcellError('invalid_argument', '%load: the file is not code, but a command of this prompt', {
      remedy: 'Read the file, and type the command if you want it.',
    });
  }
  context.edit(text);
}

async function runFile(context: CommandContext, words: readonly string[]): Promise<void> {
  const { code, filename } = await localFile('%run', words, context);
  await context.runCode(code, shownName(filename).slice(-255).toWellFormed());
}

/** A file of the user's machine, which is read here and not in the sandbox. */
async function localFile(command: string, words: readonly string[], { writable }: CommandContext): Promise<Source> {
  const file = words.join(' ');
  if (file !== '' && file !== '-') return readSource(file, { writable });
  throw new HotcellError('invalid_argument', `${command}: expects the name of a file of this machine`, {
    remedy: `For example: ${command} analysis.py`,
  });
}

async function help({ say, paint }: CommandContext): Promise<void> {
  const entries = Object.values(COMMANDS);
  const width = Math.max(...entries.map(({ usage }) => usage.length));
  const line = (left: string, right: string) => `  ${left.padEnd(width)}  ${paint('dim', right)}`;
  await say(
    [
      ...entries.map((entry) => line(entry.usage, entry.help)),
      line('name?', 'show the documentation of a name'),
      line('!command', 'run a shell command in the sandbox'),
      '',
      line('Tab', 'complete a name; Tab and arrows choose in the menu'),
      line('Enter', 'run the input; an empty line ends a block'),
      line('Alt-Enter', 'insert a new line'),
      line('Up, Down', 'history entries that begin with the input'),
      line('Ctrl-R', 'search the history; Ctrl-R again goes further'),
      line('Right, End', 'take the grey suggestion from the history'),
      line('Ctrl-C', 'interrupt running code, or clear the line; variables are kept'),
      line('Ctrl-D', 'close the session and delete the sandbox with its files'),
    ].join('\n'),
  );
}
