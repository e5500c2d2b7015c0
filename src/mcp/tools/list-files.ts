import * as z from 'zod';
import { firstFitting } from '../../lib/first-fitting.ts';
import { quotedName } from '../../lib/said-inside.ts';
import { defineTool } from '../define-tool.ts';
import { sessionArgument } from './session-argument.ts';

const TEXT_LINES = 200;
/** Total length of the names: a program chooses them, and each may have four thousand characters. */
const NAME_CHARS = 40_000;

export const listFiles = defineTool({
  name: 'list_files',
  title: 'List files',
  description: `Lists the files of the workspace or of a folder in it, with their sizes.

  {}
  {"path": "data", "recursive": true}`,
  input: z.strictObject({
    path: z.string().min(1).max(4096).default('.').describe('Folder in /workspace'),
    recursive: z.boolean().default(false),
    limit: z.number().int().min(1).max(1000).default(200).describe('Most entries'),
    session_id: sessionArgument,
  }),
  output: z.object({
    session_id: z.string(),
    path: z.string(),
    entries: z.array(
      z.object({
        path: z.string().describe('Relative to the workspace'),
        kind: z.enum(['file', 'folder', 'link', 'other']),
        size_bytes: z.number().int(),
        modified: z.string().describe('UTC'),
      }),
    ),
    omitted: z.number().int().describe('Number of entries not listed (a lower bound)'),
  }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  async handler({ path, recursive, limit, session_id }, { deps, signal, turn }) {
    const managed = await deps.directory.use(deps.owner, session_id, { signal, via: 'list_files' });
    const { entries, omitted } = await managed.session.files.list(path, { recursive, limit, signal });
    const named = firstFitting(entries, NAME_CHARS, ({ path: { length } }) => length);
    await turn(named.reduce((chars, { path: { length } }) => chars + length, 0));
    const listed = named.map((entry) => ({
      path: entry.path,
      kind: entry.kind,
      size_bytes: entry.sizeBytes,
      modified: dateOf(entry.modifiedMs),
    }));
    const lines = listed.slice(0, TEXT_LINES).map(lineOf);
    const unnamed = omitted + entries.length - listed.length;
    const left = listed.length - lines.length + unnamed;
    const text = [...(lines.length === 0 ? ['(empty)'] : lines), ...(left === 0 ? [] : [`… and ${left} more`])].join(
      '\n',
    );
    return {
      structured: { session_id: managed.id, path, entries: listed, omitted: unnamed },
      content: [{ type: 'text', text }],
    };
  },
});

function lineOf({ path, kind, size_bytes }: { path: string; kind: string; size_bytes: number }): string {
  const name = quotedName(path);
  return kind === 'folder'
    ? `${name}/`
    : `${name}  ${size_bytes.toLocaleString('en-US')} bytes${kind === 'file' ? '' : ` (${kind})`}`;
}

/** The guest reports the time, so any number may come. */
function dateOf(modifiedMs: number): string {
  const date = new Date(modifiedMs);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}
