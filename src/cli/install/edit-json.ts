import {
  findNodeAtLocation,
  type Node,
  type ParseError,
  parse,
  parseTree,
  printParseErrorCode,
  stripComments,
} from 'jsonc-parser';
import { excessIn, JSON_LIMITS } from '../../lib/json-limits.ts';
import type { ConfigEditor } from './editor.ts';
import { insertMember, removeMember, replaceValue } from './json-members.ts';
import { isTable } from './server-entry.ts';

/** Edits JSON as text: only the member changes; every other byte stays, comments included. */
export function jsonEditor({ comments }: { comments: boolean }): ConfigEditor {
  return {
    parse: (text) => parsed(text, comments),
    set(text, [key, name], value) {
      const whole = text.trim() === '' ? '{}\n' : text;
      const root = treeOf(whole);
      const entry = findNodeAtLocation(root, [key, name]);
      if (entry !== undefined) return replaceValue(whole, entry, value);
      const table = findNodeAtLocation(root, [key]);
      return table === undefined
        ? insertMember(whole, root, key, { [name]: value })
        : insertMember(whole, table, name, value);
    },
    remove(text, [key, name]) {
      const entry = findNodeAtLocation(treeOf(text), [key, name]);
      if (entry === undefined) return text;
      const removed = removeMember(text, entry);
      const table = findNodeAtLocation(treeOf(removed), [key]);
      return table?.children?.length === 0 ? removeMember(removed, table) : removed;
    },
    source(text, path) {
      const entry = text.trim() === '' ? undefined : findNodeAtLocation(treeOf(text), [...path]);
      return entry && text.slice(entry.offset, entry.offset + entry.length);
    },
    fragment: ([key, name], value) => `${JSON.stringify({ [key]: { [name]: value } }, null, 2)}\n`,
  };
}

function parsed(text: string, comments: boolean): unknown {
  if (text.trim() === '') return {};
  const excess = excessIn(stripComments(text), { members: Number.POSITIVE_INFINITY, levels: JSON_LIMITS.levels });
  if (excess !== undefined) throw new Error(excess);
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: comments, disallowComments: !comments });
  const [error] = errors;
  if (error !== undefined) throw new Error(`${printParseErrorCode(error.error)} at ${place(text, error.offset)}`);
  if (!isTable(value)) throw new Error('not an object');
  return value;
}

function treeOf(text: string): Node {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) throw new Error('nothing in it');
  return root;
}

function place(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}
