import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ErrorCode } from '../../../errors/codes.ts';
import { HotcellError, toHotcellError } from '../../../errors/hotcell-error.ts';
import { quotedName } from '../../../lib/said-inside.ts';
import { failedResult } from '../../present/error-result.ts';
import { DATA_FOLDER } from './artifacts.ts';

/** The error codes of mcp-code-sandbox. */
export const FAILURE_CODES = [
  ...(['invalid_session_id', 'invalid_filename', 'invalid_path', 'invalid_content'] as const),
  ...(['upload_too_large', 'code_too_large', 'file_exists', 'max_sessions', 'session_busy'] as const),
  ...(['session_not_found', 'not_found', 'artifact_too_large'] as const),
  ...(['docker_error', 'docker_unavailable', 'execution_failed'] as const),
];
export type FailureCode = (typeof FAILURE_CODES)[number];

/** A refusal with a code of mcp-code-sandbox. */
export class Failure extends HotcellError {
  readonly failure: FailureCode;
  readonly about: { readonly sizeBytes?: number; readonly downloadUrl?: string | null };

  constructor(failure: FailureCode, message: string, about: Failure['about'] = {}) {
    super('invalid_argument', message);
    this.failure = failure;
    this.about = about;
  }
}

/** Formats an error as clients of mcp-code-sandbox expect it, as text and as data. */
export function failureResult(thrown: unknown, args: unknown): CallToolResult {
  const { failure, message, about } = thrown instanceof Failure ? thrown : failureOf(thrown, args);
  const structured = {
    error: failure,
    message,
    size_bytes: about.sizeBytes ?? null,
    download_url: about.downloadUrl ?? null,
  };
  return failedResult(JSON.stringify(structured), structured);
}

/** Turns the end of a session during a run into a failure of the run. */
export async function inRun<T>(run: Promise<T>): Promise<T> {
  try {
    return await run;
  } catch (thrown) {
    const { code, message } = toHotcellError(thrown);
    throw code === 'session_closed' ? new Failure('execution_failed', message) : thrown;
  }
}

/** Hotcell's codes and their counterparts. All others become `execution_failed`. */
const CODES: Partial<Record<ErrorCode, FailureCode>> = {
  code_too_large: 'code_too_large',
  bad_path: 'invalid_path',
  file_not_found: 'not_found',
  file_exists: 'file_exists',
  file_too_large: 'artifact_too_large',
  disk_full: 'upload_too_large',
  session_not_found: 'session_not_found',
  session_closed: 'session_not_found',
  session_busy: 'session_busy',
  too_many_executions: 'session_busy',
  too_many_sessions: 'max_sessions',
  too_much_memory: 'max_sessions',
  driver_unavailable: 'docker_unavailable',
  isolation_too_weak: 'docker_unavailable',
  image_missing: 'docker_error',
  engine_failed: 'docker_error',
  start_failed: 'docker_error',
  start_timeout: 'docker_error',
  sandbox_lost: 'docker_error',
};

/** Failure codes of missing or mistyped arguments. */
const ARGUMENTS: readonly (readonly [string, FailureCode])[] = [
  ['session_id', 'invalid_session_id'],
  ['filename', 'invalid_filename'],
  ['path', 'invalid_path'],
  ['content_base64', 'invalid_content'],
];

function failureOf(thrown: unknown, args: unknown): Failure {
  const error = toHotcellError(thrown);
  if (error.code === 'invalid_argument') return new Failure(codeOfArgument(error.message), error.message);
  // SECURITY: the message of an internal error is not shown, because it may name paths of the host.
  if (error.code === 'internal') return new Failure('execution_failed', 'internal error of the server');
  const { path, filename } = (args ?? {}) as { path?: unknown; filename?: unknown };
  const ours = CODES[error.code] ?? 'execution_failed';
  const code = (filename === undefined ? undefined : IN_UPLOADS[ours]) ?? ours;
  const advice = REMEDIES[code] ?? error.remedy;
  const message = MESSAGES[error.code] ?? inDataFolder(error.message, filename ?? path);
  return new Failure(code, advice === undefined ? message : `${message}. ${advice}`);
}

/** Remedies that name the tools of the profile. Those of the library name methods that its clients do not have. */
const REMEDIES: Partial<Record<FailureCode, string>> = {
  file_exists: 'Pass overwrite: true to replace it, or choose another filename.',
  invalid_filename: 'filename must be a name without folders, such as sales.csv.',
  invalid_path: `path must name a regular file in ${DATA_FOLDER}, such as ${DATA_FOLDER}/chart.png.`,
  not_found: 'Call sandbox_list_artifacts for the files of the session.',
  max_sessions: 'Close a session with sandbox_close_session, or pass the session_id of an open session.',
  session_busy: 'Wait until the run has ended.',
  session_not_found: 'Call sandbox_run_python or sandbox_upload_file without session_id to open a new one.',
};

/** Messages that replace those of the library, which name the session by another id. */
const MESSAGES: Partial<Record<ErrorCode, string>> = { session_busy: 'a run is in progress in this session' };

/** Replaces a path relative to the workspace, as the library names it, by the path in the sandbox that callers know. */
function inDataFolder(message: string, given: unknown): string {
  if (typeof given !== 'string') return message;
  const path = given.startsWith(`${DATA_FOLDER}/`) ? given.slice(DATA_FOLDER.length + 1) : given;
  const named = `${quotedName(path)}: `;
  return message.startsWith(named)
    ? `${quotedName(`${DATA_FOLDER}/${path}`)}: ${message.slice(named.length)}`
    : message;
}

const IN_UPLOADS: Partial<Record<FailureCode, FailureCode>> = {
  artifact_too_large: 'upload_too_large',
  invalid_path: 'invalid_filename',
};

function codeOfArgument(complaint: string): FailureCode {
  return ARGUMENTS.find(([name]) => complaint.startsWith(`${name}: `))?.[1] ?? 'execution_failed';
}
