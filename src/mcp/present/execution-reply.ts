import type { ContentBlock } from '@modelcontextprotocol/server';
import type { ManagedExecution, ManagedSession } from '../../directory/directory.ts';
import type { Artifact, ExecutionResult } from '../../execution/result.ts';
import { quotedName } from '../../lib/said-inside.ts';
import type { ToolReply } from '../define-tool.ts';
import type { McpDeps } from '../deps.ts';
import { type ExecutionOutput, endedOutput, fileEntry, unendedOutput } from './execution-output.ts';
import { executionTexts } from './execution-text.ts';
import { notesOf } from './notes.ts';
import { imageBlock, isPicture, MOST_PICTURES, PICTURE_BYTES, shownOf } from './pictures.ts';
import { printedPieces } from './printed-pieces.ts';
import { textBlocks } from './text-blocks.ts';
import { waitingText } from './waiting-text.ts';

/** Limits on the files that a reply names, by number and by total length of names. Further files are only counted. */
const MOST_FILES = 20;
const NAME_CHARS = 4_000;

/** The reply about an execution that has ended: text, its pictures, and links to its files. */
export async function endedReply(
  managed: ManagedSession,
  execution: ManagedExecution,
  result: ExecutionResult,
  deps: McpDeps,
): Promise<ToolReply<ExecutionOutput>> {
  const place = placeOf(managed, execution, deps);
  const shown = shownOf(result, place.chars);
  const artifacts = namable(result.artifacts);
  // A figure that was shown and saved is one picture to the reader.
  const saved = shown.images.length > 0 ? [] : await pictureFiles(managed, artifacts);
  const pieces = printedPieces(result, shown, place.chars);
  const ofValue = shown.images.filter((image) => !shown.each.includes(image));
  const files = await Promise.all(
    artifacts.map(async (artifact) => fileEntry(managed.id, artifact, await urlOf(managed, artifact, deps))),
  );
  const isFirst = managed.executions()[0]?.id === execution.id;
  const structured = endedOutput(result, place, {
    files,
    shown: shown.texts,
    images: shown.images.length + saved.length,
    notes: notesOf(result, isFirst),
  });
  return {
    structured,
    content: [...textBlocks(...executionTexts(structured, pieces)), ...ofValue, ...saved, ...files.map(linkTo)],
  };
}

/** The reply about an execution that has not ended. */
export function unendedReply(
  managed: ManagedSession,
  execution: ManagedExecution,
  deps: McpDeps,
): ToolReply<ExecutionOutput> {
  const state = execution.state() === 'waiting' ? 'waiting' : 'running';
  const waiting = state === 'waiting' ? waitingText(execution) : undefined;
  const what =
    state === 'running'
      ? 'Still running.'
      : waiting === undefined
        ? 'Starting.'
        : `Waiting: this execution ${waiting}.`;
  const note = `${what} Call get_execution with execution_id ${execution.id} for the result (wait_ms: wait for it; cancel: stop it).`;
  const unended = unendedOutput(state, execution.partial(), placeOf(managed, execution, deps), [note]);
  const structured = { ...unended, ...waitsForOf(execution) };
  return { structured, content: textBlocks(...executionTexts(structured)) };
}

function waitsForOf(execution: ManagedExecution): Pick<ExecutionOutput, 'waits_for'> {
  const turn = execution.waitsFor();
  if (turn === undefined) return {};
  const { executionId, since } = turn;
  return {
    waits_for: { ...(executionId === undefined ? {} : { execution_id: executionId }), since: since.toISOString() },
  };
}

function namable(artifacts: readonly Artifact[]): readonly Artifact[] {
  let chars = 0;
  const end = artifacts.findIndex(({ path }) => {
    chars += path.length;
    return chars > NAME_CHARS;
  });
  return artifacts.slice(0, end === -1 ? MOST_FILES : Math.min(end, MOST_FILES));
}

/** The download link of a file, if one can be made. */
function urlOf(managed: ManagedSession, { path }: Artifact, { links }: McpDeps): Promise<string | undefined> {
  return links.urlFor(managed.uniqueId, path).catch(() => undefined);
}

function placeOf(managed: ManagedSession, execution: ManagedExecution, { config }: McpDeps) {
  return { sessionId: managed.id, executionId: execution.id, chars: config.replyChars };
}

/**
 * Images that the code saved without displaying them. An image that can no longer be read is listed as a link, like any
 * file.
 */
async function pictureFiles(managed: ManagedSession, artifacts: readonly Artifact[]): Promise<ContentBlock[]> {
  const wanted = artifacts.filter(({ mediaType, sizeBytes }) => isPicture(mediaType) && sizeBytes <= PICTURE_BYTES / 2);
  const blocks = await Promise.all(
    wanted.slice(0, MOST_PICTURES / 2).map(async ({ path, mediaType }) => {
      const data = await managed.session.files.read(path, { limitBytes: PICTURE_BYTES }).catch(() => undefined);
      return data === undefined ? [] : [imageBlock(mediaType, data)];
    }),
  );
  return blocks.flat();
}

function linkTo({ uri, path, media_type, size_bytes }: ExecutionOutput['files'][number]): ContentBlock {
  return { type: 'resource_link', uri, name: quotedName(path), mimeType: media_type, size: size_bytes };
}
