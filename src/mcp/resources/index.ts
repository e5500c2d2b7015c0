import { isUtf8 } from 'node:buffer';
import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ManagedSession } from '../../directory/directory.ts';
import { type HotcellError, toHotcellError } from '../../errors/hotcell-error.ts';
import { mediaTypeOf } from '../../lib/media-type.ts';
import { isTextType } from '../../lib/text-type.ts';
import { callWatchOf } from '../call-watch.ts';
import type { McpDeps } from '../deps.ts';
import { asPiece, readLogBytes } from '../execution-log.ts';
import { RESULT_META } from '../present/result-meta.ts';
import { fittingInJson } from './json-size.ts';
import { listResources } from './list.ts';
import { decoded, FILE_TEMPLATE, LOG_TEMPLATE } from './uris.ts';

/** Limit of one message: stdio clients take at most 10 MB, and base64 adds a third. */
const READ_BYTES = 6 * 1_048_576;
const MESSAGE_BYTES = 9 * 1_048_576;

/**
 * Resources for clients that follow links: files of workspaces and logs of executions, of the owner's own sessions
 * only. Listing opens no session.
 */
export function registerResources(server: McpServer, deps: McpDeps): void {
  server.registerResource(
    'workspace-file',
    new ResourceTemplate(FILE_TEMPLATE, {
      list: undefined,
      complete: named({ session: (value: string) => idsStarting(deps, value) }),
    }),
    { title: 'File in a workspace', description: 'A file of a session, by its path in the workspace.' },
    (uri, { session, path }, context) =>
      answered(uri, () => readFile(callOf(deps, uri, context), decoded(session), decoded(path))),
  );
  server.registerResource(
    'execution-log',
    new ResourceTemplate(LOG_TEMPLATE, {
      list: undefined,
      complete: named({
        session: (value: string) => idsStarting(deps, value),
        execution: (value: string) =>
          sessionsOf(deps).flatMap((managed) =>
            managed.executions().flatMap(({ id }) => (id.startsWith(value) ? [id] : [])),
          ),
      }),
    }),
    {
      title: 'Output of an execution',
      description:
        'The output of an execution, as far as it was kept, and its exception. If there is more, _meta has next_offset: call get_execution with it as log_offset.',
      mimeType: 'text/plain',
    },
    (uri, { session, execution }, context) =>
      answered(uri, () => readExecutionLog(callOf(deps, uri, context), decoded(session), decoded(execution))),
  );
  // Replaces the handler of the SDK, which knows no pages.
  server.server.setRequestHandler('resources/list', ({ params }, context) =>
    listResources(deps, {
      cursor: params?.cursor,
      turn: async (chars) => callWatchOf(context)?.turn(chars),
    }),
  );
}

interface Call {
  readonly deps: McpDeps;
  readonly uri: URL;
  readonly signal: AbortSignal;
}

function callOf(deps: McpDeps, uri: URL, { mcpReq }: ServerContext): Call {
  return { deps, uri, signal: mcpReq.signal };
}

async function readFile(
  call: Call,
  sessionId: string | undefined,
  path: string | undefined,
): Promise<ReadResourceResult> {
  const managed = existing(call.deps, sessionId);
  if (managed === undefined || path === undefined) throw new ResourceNotFoundError(call.uri.href);
  const mimeType = mediaTypeOf(path);
  return presented(call, {
    read: () => managed.session.files.read(path, { limitBytes: READ_BYTES, signal: call.signal }),
    present: async (data) => ({
      mimeType,
      ...((await isShownAsText(mimeType, data)) ? { text: data.toString('utf8') } : { blob: data.toString('base64') }),
    }),
  });
}

async function readExecutionLog(
  call: Call,
  sessionId: string | undefined,
  executionId: string | undefined,
): Promise<ReadResourceResult> {
  const execution = executionId === undefined ? undefined : existing(call.deps, sessionId)?.execution(executionId);
  if (execution === undefined) throw new ResourceNotFoundError(call.uri.href);
  return presented(call, {
    read: () => readLogBytes(execution, { offset: 0, length: READ_BYTES }),
    present: async (log) => {
      const fitting = await fittingInJson(log.bytes, MESSAGE_BYTES);
      const { text, next_offset, size_bytes } = asPiece({ ...log, bytes: log.bytes.subarray(0, fitting) });
      // SECURITY: apart from the text, which a program has written.
      const _meta = next_offset === undefined ? undefined : { [RESULT_META]: { next_offset, size_bytes } };
      return { mimeType: 'text/plain', text, ...(_meta === undefined ? {} : { _meta }) };
    },
  });
}

interface Presenting<Data> {
  read(): Promise<Data>;
  /** Builds the content of the answer, on the main thread. */
  present(
    data: Data,
  ): Promise<{ mimeType: string; _meta?: Record<string, unknown> } & ({ text: string } | { blob: string })>;
}

/**
 * SECURITY: a dozen concurrent reads would hold all their data in memory, and their slices would add up and block the
 * main thread. So an owner has a few reads at a time, and one that is encoded. No slot shared by owners is held while a
 * sandbox reads, which a program can slow down.
 */
async function presented<Data>(
  { deps: { editing, computing, owner }, uri, signal }: Call,
  { read, present }: Presenting<Data>,
): Promise<ReadResourceResult> {
  const doneReading = await editing.take(owner.id, { signal });
  try {
    const data = await read();
    const donePresenting = await computing.take(owner.id, { signal });
    const content = await present(data).finally(() => setImmediate(donePresenting));
    return { contents: [{ uri: uri.href, ...content }] };
  } finally {
    doneReading();
  }
}

/**
 * SECURITY: searches the owner's own open sessions only: the id of another owner's session is as unknown as one that
 * never existed.
 */
function existing(deps: McpDeps, sessionId: string | undefined): ManagedSession | undefined {
  return sessionId === undefined ? undefined : deps.directory.known(deps.owner, sessionId);
}

function sessionsOf({ directory, owner }: McpDeps): readonly ManagedSession[] {
  return directory.list(owner);
}

function idsStarting(deps: McpDeps, value: string): string[] {
  return sessionsOf(deps).flatMap(({ id }) => (id.startsWith(value) ? [id] : []));
}

/** Reads a resource. A failure is an error of the protocol, because a resource has no result for it. */
async function answered(uri: URL, read: () => Promise<ReadResourceResult>): Promise<ReadResourceResult> {
  try {
    return await read();
  } catch (thrown) {
    if (thrown instanceof ProtocolError) throw thrown;
    const error = toHotcellError(thrown);
    if (error.code === 'file_not_found') throw new ResourceNotFoundError(uri.href);
    const message = error.code === 'internal' ? 'the resource cannot be read' : remediedText(error);
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message, { uri: uri.href, code: error.code });
  }
}

function remediedText({ code, message, remedy }: HotcellError): string {
  if (code === 'file_too_large') return `${message}: read it in pieces with read_file`;
  return remedy === undefined ? message : `${message}. ${remedy}`;
}

async function isShownAsText(mimeType: string, data: Buffer): Promise<boolean> {
  if (!isTextType(mimeType) && mimeType !== 'application/octet-stream') return false;
  return isUtf8(data) && !data.includes(0) && (await fittingInJson(data, MESSAGE_BYTES)) === data.length;
}

/**
 * SECURITY: removes the prototype. The SDK looks up names from a client in this object, and would find `constructor` in
 * an ordinary one.
 */
function named<T extends object>(members: T): T {
  return Object.assign(Object.create(null), members) as T;
}
