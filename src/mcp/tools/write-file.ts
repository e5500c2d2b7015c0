import * as z from 'zod';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { quotedName } from '../../lib/said-inside.ts';
import { defineTool } from '../define-tool.ts';
import { fileUri } from '../resources/uris.ts';
import { pathArgument, sessionArgument } from './session-argument.ts';

export const writeFile = defineTool({
  name: 'write_file',
  title: 'Write a file',
  description: `Writes a file into the workspace, with missing folders. Replaces an existing file, unless mode says otherwise.

  {"path": "src/main.py", "content": "print('hello')\\n"}
  {"path": "logo.png", "content": "iVBORw0…", "encoding": "base64"}

To change part of a file, use edit_file. For a file on the user's machine prefer load_file (if available): its content does not pass through you.`,
  input: z.strictObject({
    path: pathArgument,
    content: z.string(),
    encoding: z.enum(['utf8', 'base64']).default('utf8').describe('base64: binary content'),
    mode: z
      .enum(['replace', 'create', 'append'])
      .default('replace')
      .describe('create: fail if it exists. append: add to the end'),
    session_id: sessionArgument,
  }),
  output: z.object({
    session_id: z.string(),
    path: z.string(),
    size_bytes: z.number().int().describe('Size of the whole file'),
    uri: z.string(),
  }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  async handler({ path, content, encoding, mode, session_id }, { deps, signal }) {
    const data = bytesOf(content, encoding);
    const managed = await deps.directory.use(deps.owner, session_id, { signal, via: 'write_file' });
    const { sizeBytes } = await managed.session.files.write(path, data, { mode, signal });
    return {
      structured: { session_id: managed.id, path, size_bytes: sizeBytes, uri: fileUri(managed.id, path) },
      content: [
        { type: 'text', text: `${quotedName(path)}: ${mode === 'append' ? 'now' : 'written,'} ${sizeBytes} bytes` },
      ],
    };
  },
});

function bytesOf(content: string, encoding: 'utf8' | 'base64'): Buffer {
  if (encoding === 'utf8') return Buffer.from(content);
  const plain = content.replace(/\s+/g, '');
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(plain)) {
    throw new HotcellError('invalid_argument', 'content: not base64', { remedy: 'Send text with encoding utf8.' });
  }
  return Buffer.from(plain, 'base64');
}
