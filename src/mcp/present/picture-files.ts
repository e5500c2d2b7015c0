import type { ContentBlock } from '@modelcontextprotocol/server';
import type { Artifact } from '../../execution/result.ts';
import { either, unlessAborted } from '../../lib/abort.ts';
import { createDeadline } from '../../lib/deadline.ts';
import type { SessionFiles } from '../../sessions/session-files.ts';
import type { ToolCall } from '../define-tool.ts';
import { imageBlock, isPicture, MOST_PICTURES, PICTURE_BYTES } from './pictures.ts';

/** Limit of a picture that was saved and not shown. */
const SAVED_BYTES = PICTURE_BYTES / 2;
/** The time that reading all of them may take. */
const PICTURES_MS = 5_000;

/**
 * Images that the code saved without displaying them. An image that cannot be read, or not in time, is listed as a
 * link, like any file.
 *
 * SECURITY: the sandbox decides how fast a file is read. The reply waits only until the deadline.
 */
export async function pictureFiles(
  { files }: { readonly files: Pick<SessionFiles, 'read'> },
  artifacts: readonly Artifact[],
  call: Pick<ToolCall, 'placeForFile' | 'signal'>,
): Promise<ContentBlock[]> {
  const wanted = artifacts.filter(({ mediaType, sizeBytes }) => isPicture(mediaType) && sizeBytes <= SAVED_BYTES);
  const blocks: ContentBlock[] = [];
  using deadline = createDeadline(PICTURES_MS, () => new Error('the pictures were not read in time'));
  const signal = either(deadline.signal, call.signal);
  for (const { path, mediaType } of wanted.slice(0, MOST_PICTURES / 2)) {
    const hasPlace = await unlessAborted(call.placeForFile(), signal).then(
      () => true,
      () => false,
    );
    if (!hasPlace) break;
    // It may have grown since.
    const data = await files.read(path, { limitBytes: SAVED_BYTES, signal }).catch(() => undefined);
    if (data !== undefined) blocks.push(imageBlock(mediaType, data));
  }
  return blocks;
}
