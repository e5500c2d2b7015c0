import * as z from 'zod';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { mediaTypeOf } from '../../lib/media-type.ts';
import { quotedName } from '../../lib/said-inside.ts';
import { defineTool } from '../define-tool.ts';
import { imageBlock, isPicture, PICTURE_BYTES } from '../present/pictures.ts';
import { textBlocks } from '../present/text-blocks.ts';
import { readBytes, readTextBytes, readTextLines, type TextPiece } from '../read-ranges.ts';
import { fileUri } from '../resources/uris.ts';
import { pathArgument, sessionArgument } from './session-argument.ts';

const BYTES = 65_536;

export const readFile = defineTool({
  name: 'read_file',
  title: 'Read a file',
  description: `Reads a file of the workspace: images as images, text in chunks of lines or bytes, each with the position of the next. To look at large data, use run_code.

  {"path": "app.py"}
  {"path": "big.log", "start_line": 2000, "lines": 100}
  {"path": "data.bin", "offset": 4096, "length": 512, "encoding": "base64"}`,
  input: z.strictObject({
    path: pathArgument,
    start_line: z.number().int().min(1).optional().describe('First line; the first is 1'),
    lines: z.number().int().min(1).max(100_000).optional().describe('Most lines'),
    offset: z.number().int().min(0).optional().describe('First byte, instead of lines'),
    length: z.number().int().min(1).max(1_048_576).optional().describe(`Most bytes (default ${BYTES})`),
    encoding: z.enum(['utf8', 'base64']).default('utf8').describe('base64: binary files'),
    session_id: sessionArgument,
  }),
  output: z.object({
    session_id: z.string(),
    path: z.string(),
    media_type: z.string(),
    uri: z.string(),
    kind: z.enum(['text', 'base64', 'image']),
    text: z.string().optional().describe('Text, or bytes in base64'),
    start_line: z.number().int().optional(),
    end_line: z.number().int().optional(),
    next_line: z.number().int().optional().describe('Where to go on; absent at the end of the file'),
    offset: z.number().int().optional(),
    next_offset: z.number().int().optional().describe('Where to go on; absent at the end of the file'),
  }),
  facts: ({ text, ...place }) => place,
  annotations: { readOnlyHint: true, openWorldHint: false },
  async handler({ path, start_line, lines, offset, length, encoding, session_id }, call) {
    const { deps, signal } = call;
    const isByLine = start_line !== undefined || lines !== undefined;
    const isByByte = offset !== undefined || length !== undefined;
    if (isByLine && (isByByte || encoding === 'base64')) {
      throw new HotcellError('invalid_argument', 'a range of lines cannot be combined with offset, length or base64', {
        remedy: 'Pass either start_line and lines, or offset and length.',
      });
    }
    const managed = await deps.directory.use(deps.owner, session_id, { signal, via: 'read_file' });
    const { files } = managed.session;
    const mediaType = mediaTypeOf(path);
    const place = { session_id: managed.id, path, media_type: mediaType, uri: fileUri(managed.id, path) };

    // SECURITY: for every read. To find a line, the whole file is read.
    await call.placeForFile();
    if (isPicture(mediaType) && !isByLine && !isByByte && encoding === 'utf8') {
      const data = await files.read(path, { limitBytes: PICTURE_BYTES, signal });
      await call.turn(data.length);
      const text = `${quotedName(path)}: ${mediaType}, ${data.length} bytes`;
      return {
        structured: { ...place, kind: 'image' as const },
        content: [{ type: 'text', text }, imageBlock(mediaType, data)],
      };
    }
    if (encoding === 'base64') {
      const piece = await readBytes(files, path, { offset: offset ?? 0, length: length ?? BYTES }, call);
      const { data, ...where } = piece;
      await call.turn(data.length);
      const text = data.toString('base64');
      return {
        structured: { ...place, kind: 'base64' as const, text, ...where },
        content: textBlocks(placeText({ ...where, text }), text),
      };
    }
    const chars = deps.config.replyChars;
    const range = { fromLine: start_line ?? 1, lines: lines ?? Number.MAX_SAFE_INTEGER, chars };
    const piece = isByByte
      ? await readTextBytes(files, path, { offset: offset ?? 0, length: Math.min(length ?? chars, chars) }, call)
      : await readTextLines(files, path, range, call);
    return {
      structured: { ...place, kind: 'text' as const, ...piece },
      content: textBlocks(placeText(piece), piece.text),
    };
  },
});

function placeText({ text, next_line, next_offset }: TextPiece): string {
  if (next_line !== undefined) return `The file continues: read on with start_line ${next_line}.`;
  if (next_offset !== undefined) return `The file continues: read on with offset ${next_offset}.`;
  return text === '' ? 'The file is empty, or ends before this position.' : 'To the end of the file:';
}
