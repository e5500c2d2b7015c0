import * as z from 'zod';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { quotedName } from '../../lib/said-inside.ts';
import { defineTool } from '../define-tool.ts';
import { replaceExact } from '../replace-exact.ts';
import { fileUri } from '../resources/uris.ts';
import { pathArgument, sessionArgument } from './session-argument.ts';

const LARGEST_BYTES = 8 * 1_048_576;

/** Maximum of concurrent edits of one owner. Each holds its file in memory. */
export const EDITS_PER_OWNER = 4;

export const editFile = defineTool({
  name: 'edit_file',
  title: 'Edit a file',
  description: `Replaces exact text in a file of the workspace. old_text must occur exactly once, with the same whitespace and line ends: include surrounding lines, or set replace_all. An empty new_text deletes it.

  {"path": "app.py", "old_text": "timeout = 10\\n", "new_text": "timeout = 30\\n"}`,
  input: z.strictObject({
    path: pathArgument,
    old_text: z.string().min(1),
    new_text: z.string(),
    replace_all: z.boolean().default(false).describe('Replace all occurrences'),
    session_id: sessionArgument,
  }),
  output: z.object({
    session_id: z.string(),
    path: z.string(),
    replaced: z.number().int().describe('Number of replacements'),
    size_bytes: z.number().int(),
    uri: z.string(),
  }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  async handler({ path, old_text, new_text, replace_all, session_id }, { deps, signal, placeForFile }) {
    const managed = await deps.directory.use(deps.owner, session_id, { signal, via: 'edit_file' });
    const { files } = managed.session;
    const replace = async (data: Buffer) => {
      // SECURITY: one computation per owner at a time, or the slices of a hundred concurrent edits would add up and
      // block the server.
      const release = await deps.computing.take(deps.owner.id, { signal });
      const options = { path, all: replace_all, largestChars: LARGEST_BYTES, signal };
      return (async () => replaceExact(asText(path, data), old_text, new_text, options))().finally(release);
    };
    const edit = async () => {
      const { result, count } = await replace(await files.read(path, { limitBytes: LARGEST_BYTES, signal }));
      return { count, ...(await files.write(path, result, { mode: 'replace', signal })) };
    };
    // SECURITY: a program can make its sandbox slow at reading and writing. No slot shared by owners is held meanwhile.
    await placeForFile();
    const { count, sizeBytes } = await edit();
    return {
      structured: {
        session_id: managed.id,
        path,
        replaced: count,
        size_bytes: sizeBytes,
        uri: fileUri(managed.id, path),
      },
      content: [{ type: 'text', text: `${quotedName(path)}: ${count} replacement${count === 1 ? '' : 's'}` }],
    };
  },
});

/** Decodes strictly: writing back text with replacement characters would damage the file. */
function asText(path: string, data: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw new HotcellError('invalid_argument', `${quotedName(path)}: not UTF-8 text`, {
      remedy: 'Edit it with run_code.',
    });
  }
}
