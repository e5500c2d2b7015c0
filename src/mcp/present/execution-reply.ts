import type { ContentBlock } from '@modelcontextprotocol/server';
import type { ManagedExecution, ManagedSession } from '../../directory/directory.ts';
import type { Artifact, ExecutionResult } from '../../execution/result.ts';
import { firstFitting } from '../../lib/first-fitting.ts';
import { quotedName } from '../../lib/said-inside.ts';
import { isNone } from '../../network/session-rules.ts';
import type { ToolCall, ToolReply } from '../define-tool.ts';
import type { McpDeps } from '../deps.ts';
import { outputSize } from '../execution-log.ts';
import { mayInstall, maySetNetwork } from '../offered.ts';
import { errorText } from './error-text.ts';
import { type ExecutionOutput, endedOutput, fileEntry, unendedOutput } from './execution-output.ts';
import { executionTexts } from './execution-text.ts';
import type { Means } from './missing-parts.ts';
import { notesOf } from './notes.ts';
import { pictureFiles } from './picture-files.ts';
import { leftOutNotes, shownOf } from './pictures.ts';
import { printedPieces } from './printed-pieces.ts';
import { refusedNotes } from './refused-notes.ts';
import { textBlocks } from './text-blocks.ts';
import { waitingText } from './waiting-text.ts';

/** Limits on the files that a reply names, by number and by total length of names. Further files are only counted. */
const MOST_FILES = 20;
const NAME_CHARS = 4_000;

/**
 * The reply about an execution that has ended: text, its pictures, and links to its files. Rejects as the
 * execution did.
 */
export async function endedReply(
  managed: ManagedSession,
  execution: ManagedExecution,
  call: ReplyCall,
  asked?: Asked,
): Promise<ToolReply<ExecutionOutput>> {
  const { deps } = call;
  const result = await execution.result;
  const place = placeOf(managed, execution, deps);
  const shown = shownOf(result, place.chars);
  const artifacts = namable(result.artifacts);
  // A figure that was shown and saved is one picture to the reader.
  const saved = shown.images.length > 0 ? [] : await pictureFiles(managed.session, artifacts, call);
  const pieces = printedPieces(result, shown, place.chars);
  const ofValue = shown.images.filter((image) => !shown.each.includes(image));
  const files = await Promise.all(
    artifacts.map(async (artifact) => fileEntry(managed.id, artifact, await urlOf(managed, artifact, deps))),
  );
  const isFirst = managed.executions()[0]?.id === execution.id;
  const error = result.outcome.kind === 'raised' ? errorText(result.outcome, place.chars) : undefined;
  const structured = endedOutput(result, place, {
    files,
    shown: shown.texts,
    images: shown.images.length + saved.length,
    notes: [
      ...notesOf(result, { isFirst, means: meansOf(managed, deps) }),
      ...refusedNotes(result, managed, deps),
      ...leftOutNotes(shown.leftOut),
      ...waitedNotes(result, asked),
    ],
    imagesOmitted: shown.leftOut.beyond + shown.leftOut.large,
    ...(await messageOffsetOf(result, execution, place.chars)),
  });
  return {
    structured,
    content: [...textBlocks(...executionTexts(structured, pieces, error)), ...ofValue, ...saved, ...files.map(linkTo)],
  };
}

/** Where the log has the message of an exception, if it is too long for a reply. */
async function messageOffsetOf(
  { outcome }: ExecutionResult,
  execution: ManagedExecution,
  chars: number,
): Promise<{ messageOffset?: number }> {
  return outcome.kind === 'raised' && outcome.message.length > chars
    ? { messageOffset: await outputSize(execution) }
    : {};
}

function meansOf({ session }: ManagedSession, deps: McpDeps): Means {
  const hasNetwork = !isNone(session.network.setting());
  return { hasNetwork, maySetNetwork: maySetNetwork(deps), mayInstall: mayInstall(deps) };
}

type ReplyCall = Pick<ToolCall, 'deps' | 'placeForFile' | 'signal'>;

/** The beginning of a call that waited for its execution. */
interface Asked {
  /** By `performance.now()`. */
  readonly askedAt: number;
  /** The work that occupied the kernel then. */
  readonly turn: ReturnType<ManagedExecution['waitsFor']>;
}

/** Says what occupied the kernel before: a model that started it in the background may not expect that. */
function waitedNotes({ durationMs }: ExecutionResult, asked: Asked | undefined): string[] {
  const executionId = asked?.turn?.executionId;
  const waitedMs = performance.now() - (asked?.askedAt ?? 0) - durationMs;
  if (executionId === undefined || waitedMs < 1000) return [];
  return [`It waited ${Math.round(waitedMs / 1000)} s for execution ${executionId}, which used the same kernel.`];
}

/** The reply about an execution that has not ended. `what`: the first sentence, unless the execution still waits. */
export function unendedReply(
  managed: ManagedSession,
  execution: ManagedExecution,
  deps: McpDeps,
  what: string,
): ToolReply<ExecutionOutput> {
  const state = execution.state() === 'waiting' ? 'waiting' : 'running';
  const waiting = state === 'waiting' ? waitingText(execution) : undefined;
  const notes = [
    waiting === undefined ? what : `In the background: it ${waiting}.`,
    `Poll: get_execution {"execution_id": "${execution.id}", "wait_ms": 30000}. To stop it: "cancel": true.`,
    ...(execution.command === undefined
      ? ['Until it ends, code in the same language waits; run_command does not.']
      : []),
  ];
  const unended = unendedOutput(state, execution.partial(), placeOf(managed, execution, deps), notes);
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
  return firstFitting(artifacts, NAME_CHARS, ({ path }) => path.length).slice(0, MOST_FILES);
}

/** The download link of a file, if one can be made. */
function urlOf(managed: ManagedSession, { path }: Artifact, { links }: McpDeps): Promise<string | undefined> {
  return links.urlFor(managed.uniqueId, path).catch(() => undefined);
}

function placeOf(managed: ManagedSession, execution: ManagedExecution, { config }: McpDeps) {
  return { sessionId: managed.id, executionId: execution.id, chars: config.replyChars };
}

/**
 * A link for the person: the address that a browser opens, or the one of the resource where there is none. A model knows
 * the file by its name.
 */
function linkTo({ url, uri, path, media_type, size_bytes }: ExecutionOutput['files'][number]): ContentBlock {
  return {
    type: 'resource_link',
    uri: url ?? uri,
    name: quotedName(path),
    mimeType: media_type,
    size: size_bytes,
    annotations: { audience: ['user'] },
  };
}
