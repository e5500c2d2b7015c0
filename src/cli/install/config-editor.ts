import { isDeepStrictEqual } from 'node:util';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { type KeepPolicy, type Merged, withAdditions } from './additions.ts';
import type { ConfigFormat } from './clients.ts';
import { jsonEditor } from './edit-json.ts';
import { tomlEditor } from './edit-toml.ts';
import type { ConfigEditor, EntryPath } from './editor.ts';
import { isTable } from './server-entry.ts';

export function editorFor(format: ConfigFormat): ConfigEditor {
  return format === 'toml' ? tomlEditor() : jsonEditor({ comments: format === 'jsonc' });
}

const MARK = '\u{feff}';

/** A configuration file of a client. */
export interface ClientConfig {
  readonly format: ConfigFormat;
  readonly text: string;
  /** Path of Hotcell's entry in the file. */
  readonly path: EntryPath;
  /** Name of the file, for errors. */
  readonly file: string;
}

/** The text with exactly this entry. Unchanged if the entry is there already. */
export function withEntry(config: ClientConfig, wanted: Record<string, unknown>): string {
  return change(config, (old, editor) => ({
    wanted,
    edit: isDeepStrictEqual(old, wanted) ? undefined : (body) => editor.set(body, config.path, wanted),
  }));
}

/** The text with the entry, and with the additions of the old entry that may stay. */
export function withMergedEntry(
  config: ClientConfig,
  entry: Record<string, unknown>,
  policy: KeepPolicy,
): { text: string; merged: Merged } {
  const merged = withAdditions(entryIn(config), entry, policy);
  return { text: withEntry(config, merged.entry), merged };
}

/** The text without the entry. Unchanged if there is none. */
export function withoutEntry(config: ClientConfig): string {
  return change(config, (old, editor) => ({
    wanted: undefined,
    edit: old === undefined ? undefined : (body) => editor.remove(body, config.path),
  }));
}

/** The entry in the text, if there is one. */
export function entryIn({ format, text, path, file }: ClientConfig): unknown {
  return member(parseOrRefuse(editorFor(format), body(text), file), path);
}

/** The entry as it is written in the text, if there is one. */
export function sourceOf({ format, text, path, file }: ClientConfig): string | undefined {
  const editor = editorFor(format);
  parseOrRefuse(editor, body(text), file);
  return editor.source(body(text), path);
}

interface Edit {
  readonly wanted: Record<string, unknown> | undefined;
  /** Undefined if there is nothing to change. */
  readonly edit: ((body: string) => string) | undefined;
}

/**
 * Edits the text, then parses the result: it must equal the old content except for Hotcell's entry. So a mistake in
 * editing a file that was written by hand (an inline table, a duplicate name) is an error, and the file stays
 * untouched.
 */
function change(
  { format, text, path, file }: ClientConfig,
  plan: (old: unknown, editor: ConfigEditor) => Edit,
): string {
  const editor = editorFor(format);
  const before = body(text);
  const parsed = parseOrRefuse(editor, before, file);
  const table = (parsed as Record<string, unknown>)[path[0]];
  if (table !== undefined && !isTable(table)) throw refusal(file, `${path[0]} is not a table`);
  const { wanted, edit } = plan(member(parsed, path), editor);
  if (edit === undefined) return text;
  const after = edit(before);
  if (!isDeepStrictEqual(reparsed(editor, after), expected(parsed, path, wanted))) {
    throw refusal(file, `the entry ${path.join('.')} is written in a way that cannot be changed safely`);
  }
  return text.startsWith(MARK) ? MARK + after : after;
}

function body(text: string): string {
  return text.startsWith(MARK) ? text.slice(MARK.length) : text;
}

function reparsed(editor: ConfigEditor, text: string): unknown {
  try {
    return plain(editor.parse(text));
  } catch {
    return undefined;
  }
}

function expected(parsed: unknown, [key, name]: EntryPath, wanted: Record<string, unknown> | undefined): unknown {
  const root = { ...(parsed as Record<string, unknown>) };
  const table = { ...(isTable(root[key]) ? root[key] : {}) };
  delete table[name];
  if (wanted !== undefined) table[name] = wanted;
  delete root[key];
  if (Object.keys(table).length > 0) root[key] = table;
  return plain(root);
}

/** Removes prototypes and the parser's own classes, so that two parses can be compared. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? `${item}n` : item)));
}

function member(parsed: unknown, [key, name]: EntryPath): unknown {
  const table = isTable(parsed) ? parsed[key] : undefined;
  const entry = isTable(table) ? table[name] : undefined;
  return entry === undefined ? undefined : plain(entry);
}

function parseOrRefuse(editor: ConfigEditor, text: string, file: string): unknown {
  try {
    return editor.parse(text);
  } catch (error) {
    throw refusal(file, `cannot be parsed: ${(error as Error).message.split('\n')[0]}`);
  }
}

function refusal(file: string, what: string): HotcellError {
  return new HotcellError('invalid_argument', `${file}: ${what}; the file was not changed`, {
    remedy: 'Fix the file, or paste the entry yourself: run the same command with --print.',
  });
}
