import { parse, stringify } from 'smol-toml';
import type { ConfigEditor, EntryPath } from './editor.ts';

/**
 * Edits TOML as text. Serializing the whole document would lose comments and order. So the entry is one block of lines
 * (`[key.name]` and its subtables) that is replaced, appended or removed. The caller parses the result to check it.
 */
export function tomlEditor(): ConfigEditor {
  return {
    parse: (text) => parse(text),
    set(text, path, value) {
      const eol = text.includes('\r\n') ? '\r\n' : '\n';
      const block = blockOf(path, value).replaceAll('\n', eol);
      const lines = text.split(/(?<=\n)/);
      const found = findBlock(lines, path);
      if (found !== undefined) return [...lines.slice(0, found.start), block, ...lines.slice(found.end)].join('');
      if (text.trim() === '') return text + block;
      return `${text}${text.endsWith('\n') ? '' : eol}${eol}${block}`;
    },
    remove(text, path) {
      const lines = text.split(/(?<=\n)/);
      const found = findBlock(lines, path);
      if (found === undefined) return text;
      // The empty line before the block was added with it.
      const start = found.start > 0 && lines[found.start - 1]?.trim() === '' ? found.start - 1 : found.start;
      return [...lines.slice(0, start), ...lines.slice(found.end)].join('');
    },
    source(text, path) {
      const lines = text.split(/(?<=\n)/);
      const found = findBlock(lines, path);
      return found && lines.slice(found.start, found.end).join('').trimEnd();
    },
    fragment: blockOf,
  };
}

function blockOf([key, name]: EntryPath, value: Record<string, unknown>): string {
  return `${stringify({ [key]: { [name]: value } }).trim()}\n`;
}

/**
 * A table header on a trimmed line. Blanks inside the brackets are removed afterwards: a pattern for them takes minutes
 * on a line of blanks.
 */
const HEADER = /^\[\[?([^\]]+)\]\]?\s*(#.*)?$/;

/** The lines of the entry's table and its subtables, up to the last line that is neither empty nor a comment. */
function findBlock(lines: readonly string[], [key, name]: EntryPath): { start: number; end: number } | undefined {
  const isOurs = (header: string) => header === `${key}.${name}` || header.startsWith(`${key}.${name}.`);
  const headers = lines.map((line) => HEADER.exec(line.trim())?.[1]?.replaceAll(/["'\s]/g, ''));
  const start = headers.findIndex((header) => header !== undefined && isOurs(header));
  if (start === -1) return undefined;
  const next = headers.findIndex((header, index) => index > start && header !== undefined && !isOurs(header));
  let end = next === -1 ? lines.length : next;
  while (end > start + 1 && /^\s*(#.*)?$/.test(lines[end - 1]?.trimEnd() ?? '')) end -= 1;
  return { start, end };
}
