import * as z from 'zod';
import type { PartialOutput } from '../../execution/execution.ts';
import type { Artifact, ExecutionResult, Truncation } from '../../execution/result.ts';
import { clip } from '../../lib/clip.ts';
import { refusedConnections } from '../../network/refused-connections.ts';
import { OUTCOME_KINDS } from '../../sandbox/outcome-table.ts';
import { fileUri, logUri } from '../resources/uris.ts';
import { droppedFrom } from './dropped.ts';

/** An execution as data: the output schema of every tool that runs something. */
export const executionOutput = z.object({
  session_id: z.string().describe('Session it ran in. Pass it to later calls to continue there'),
  execution_id: z.string(),
  state: z.enum(['waiting', 'running', 'ended']).describe('Status; the other fields are final once it is `ended`'),
  waits_for: z
    .object({ execution_id: z.string().optional(), since: z.string() })
    .optional()
    .describe(
      'While `waiting`: what uses the same kernel now, and since when; without execution_id, a question about variables',
    ),
  outcome: z.enum(OUTCOME_KINDS).optional().describe('Outcome of the execution'),
  exit_code: z.number().int().optional(),
  stdout: z.string(),
  stderr: z.string(),
  value: z.string().optional().describe('Value of the last expression'),
  error: z
    .object({ name: z.string(), message: z.string(), traceback: z.string(), hint: z.string().optional() })
    .optional()
    .describe('Exception that the code raised'),
  notes: z.array(z.string()).describe('Notes: limits that were reached, state that was lost, what to do next'),
  shown: z.array(z.string()).describe('Displayed objects as text; images are in the content of the reply'),
  images: z.number().int().describe('Number of images in this reply'),
  images_omitted: z.number().int().describe('Number of further images, which a reply does not hold'),
  files: z
    .array(
      z.object({
        path: z.string().describe('Relative to the workspace'),
        change: z.enum(['created', 'modified']),
        size_bytes: z.number().int(),
        media_type: z.string(),
        uri: z.string().describe('Resource URI, for resources/read'),
        url: z.string().optional().describe('Download link for a browser or curl; it expires'),
      }),
    )
    .describe('Files that it created or changed'),
  files_omitted: z.number().int().describe('Number of changed files not listed; -1: too many to compare'),
  omitted: z
    .object({
      stdout_chars: z.number().int(),
      stderr_chars: z.number().int(),
      message_chars: z.number().int().optional(),
      message_offset: z.number().int().optional().describe('Byte of the log where the exception begins'),
      log_uri: z.string(),
    })
    .optional()
    .describe('Number of characters omitted from stdout, stderr and the message; the log has all of them'),
  changed: z
    .object({ added: z.array(z.string()), rebound: z.array(z.string()), deleted: z.array(z.string()) })
    .optional()
    .describe('Variables that it created, rebound or deleted'),
  variables: z.enum(['kept', 'lost']).optional().describe('Whether the variables are kept for the next call'),
  network: refusedConnections.optional().describe('Connections that the network policy refused'),
  duration_ms: z.number().optional(),
  isolation: z.object({ driver: z.string(), level: z.number() }).optional(),
});
export type ExecutionOutput = z.infer<typeof executionOutput>;

/** An execution without the texts that the content of its reply has. */
export function executionFacts({ stdout, stderr, value, shown, notes, error, ...facts }: ExecutionOutput): object {
  return { ...facts, ...(error === undefined ? {} : { error: { name: error.name, message: error.message } }) };
}

export interface Place {
  readonly sessionId: string;
  readonly executionId: string;
  /** Maximum number of characters of stdout and of the message of an exception; every other text gets half of it. */
  readonly chars: number;
}

/** An execution that has ended. */
export function endedOutput(
  result: ExecutionResult,
  place: Place,
  made: {
    files: ExecutionOutput['files'];
    shown: readonly string[];
    images: number;
    imagesOmitted?: number;
    notes: readonly string[];
    /** Byte of the log where its exception begins. */
    messageOffset?: number;
  },
): ExecutionOutput {
  const { outcome, value, isolation } = result;
  const message = outcome.kind === 'raised' ? clip(outcome.message, place.chars) : undefined;
  const exitCode = exitCodeOf(result);
  return {
    session_id: place.sessionId,
    execution_id: place.executionId,
    state: 'ended',
    outcome: outcome.kind,
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...clippedStreams(result, place, result.truncation, {
      chars: message?.omittedChars ?? 0,
      offset: made.messageOffset ?? 0,
    }),
    ...(value === undefined ? {} : { value: clip(value.text, place.chars / 2).text }),
    ...(outcome.kind !== 'raised' || message === undefined
      ? {}
      : {
          error: {
            name: outcome.name,
            message: message.text,
            traceback: clip(outcome.traceback.join('\n'), place.chars / 2).text,
            ...(outcome.hint === undefined ? {} : { hint: outcome.hint }),
          },
        }),
    notes: [...made.notes],
    shown: [...made.shown],
    images: made.images,
    images_omitted: made.imagesOmitted ?? 0,
    files: made.files,
    files_omitted:
      result.artifactsOmitted === -1 ? -1 : result.artifactsOmitted + result.artifacts.length - made.files.length,
    ...changedOf(result),
    ...networkOf(result),
    variables: result.state,
    duration_ms: Math.round(result.durationMs * 1000) / 1000,
    isolation: { driver: isolation.driver, level: isolation.level },
  };
}

/** An execution that has not ended: its output so far. */
export function unendedOutput(
  state: 'waiting' | 'running',
  partial: PartialOutput,
  place: Place,
  notes: readonly string[],
): ExecutionOutput {
  return {
    session_id: place.sessionId,
    execution_id: place.executionId,
    state,
    ...clippedStreams(partial, place, partial.truncation),
    notes: [...notes],
    shown: [],
    images: 0,
    images_omitted: 0,
    files: [],
    files_omitted: 0,
  };
}

export function fileEntry(
  sessionId: string,
  artifact: Artifact,
  url: string | undefined,
): ExecutionOutput['files'][number] {
  return {
    path: artifact.path,
    change: artifact.change,
    size_bytes: artifact.sizeBytes,
    media_type: artifact.mediaType,
    uri: fileUri(sessionId, artifact.path),
    ...(url === undefined ? {} : { url }),
  };
}

function clippedStreams(
  streams: { stdout: string; stderr: string },
  place: Place,
  truncation?: Truncation,
  message = { chars: 0, offset: 0 },
): Pick<ExecutionOutput, 'stdout' | 'stderr' | 'omitted'> {
  const stdout = clip(streams.stdout, place.chars, droppedFrom('stdout', truncation));
  const stderr = clip(streams.stderr, place.chars / 2, droppedFrom('stderr', truncation));
  const stdoutChars = stdout.omittedChars + (truncation?.stdoutDroppedBytes ?? 0);
  const stderrChars = stderr.omittedChars + (truncation?.stderrDroppedBytes ?? 0);
  return {
    stdout: stdout.text,
    stderr: stderr.text,
    ...(stdoutChars + stderrChars + message.chars === 0
      ? {}
      : {
          omitted: {
            stdout_chars: stdoutChars,
            stderr_chars: stderrChars,
            ...(message.chars === 0 ? {} : { message_chars: message.chars, message_offset: message.offset }),
            log_uri: logUri(place.sessionId, place.executionId),
          },
        }),
  };
}

function changedOf({ variables }: ExecutionResult): Pick<ExecutionOutput, 'changed'> {
  if (variables === undefined) return {};
  const { added, rebound, deleted } = variables;
  return { changed: { added: [...added], rebound: [...rebound], deleted: [...deleted] } };
}

function networkOf({ network }: ExecutionResult): Pick<ExecutionOutput, 'network'> {
  return network === undefined ? {} : { network: { ...network, refused: [...network.refused] } };
}

function exitCodeOf({ outcome }: ExecutionResult): number | undefined {
  return outcome.kind === 'exited' ? outcome.exitCode : undefined;
}
