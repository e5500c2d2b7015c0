import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import * as z from 'zod';
import { filePath } from '../../artifacts/file-path.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { type WatchLine, watchLine } from '../../http/watch-lines.ts';
import { unlessAborted } from '../../lib/abort.ts';
import { saidByServer } from '../../lib/said-inside.ts';
import { ERROR_META } from '../../mcp/present/error-result.ts';
import { executionOutput } from '../../mcp/present/execution-output.ts';
import { STRUCTURED_HEADER } from '../../mcp/present/result-meta.ts';
import { noServer, remoteError, serverUrl } from './server-errors.ts';
import { createServerRequests, misbehaved, SERVER_LIMITS, type ServerRequests } from './server-requests.ts';
import { linesOf, type StreamedRun, streamedRun } from './streamed-run.ts';

/** A Hotcell server, on this machine or another. */
export interface RemoteHotcell extends AsyncDisposable {
  /** Calls a tool. Rejects with the error in the server's answer. */
  call(name: string, args: object, options?: { signal?: AbortSignal; timeoutMs?: number }): Promise<RemoteAnswer>;
  /** Runs code in a session. Resolves when the server has accepted it. */
  run(session: string, request: RunRequest): Promise<StreamedRun>;
  /** Streams what runs in a session, whoever asked for it, until the session is closed. */
  watch(session: string, signal: AbortSignal): AsyncGenerator<WatchLine>;
  /** Asks the kernel of a session. Rejects while it runs code. */
  ask(session: string, question: 'complete' | 'inspect', about: QuestionRequest): Promise<unknown>;
  /** Streams a file of a session. */
  stream(session: string, path: string): AsyncIterable<Uint8Array>;
}

export interface RunRequest {
  readonly code: string;
  readonly language: string;
  readonly filename: string;
  readonly timeout_ms?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface QuestionRequest {
  readonly code: string;
  readonly cursor?: number;
  readonly language: string;
}

export interface RemoteAnswer {
  readonly data: unknown;
  readonly pictures: readonly { readonly mediaType: string; readonly data: Buffer }[];
}

/** Timeout of a call. A session may wait in the queue before it is opened. */
const LONGEST_CALL_MS = 300_000;
/** SECURITY: maximum of an answer about names, which is a list of at most a thousand. */
const LARGEST_ANSWER_BYTES = 8 * 1_048_576;

export async function connectRemote(
  server: string,
  token: string | undefined,
  version: string,
  limits = SERVER_LIMITS,
): Promise<RemoteHotcell> {
  const base = serverUrl(server);
  const requests = createServerRequests(base, limits);
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const client = new Client(
    { name: 'hotcell', version },
    { versionNegotiation: { mode: 'auto' }, inputRequired: { autoFulfill: false } },
  );
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', base), {
    requestInit: { headers: { ...headers, [STRUCTURED_HEADER]: 'true' } },
    fetch: requests.fetchBounded,
  });
  try {
    await unlessAborted(client.connect(transport), requests.misbehaviour);
  } catch (error) {
    await transport.close().catch(() => {});
    const reason = hotcellErrorIn(error) ?? (await unreachable(base, headers, requests, error));
    requests.close();
    throw reason;
  }
  return {
    async call(name, args, { signal, timeoutMs = LONGEST_CALL_MS } = {}) {
      // With progress requested, the server sends a notification every few seconds, so that a slow call differs from
      // one that hangs.
      const options = { timeout: timeoutMs, onprogress: () => {}, ...(signal === undefined ? {} : { signal }) };
      // SECURITY: not `callTool`, which may list the server's tools, warn of their names, and run the regular
      // expressions of their schemas, which may never end.
      const request = { method: 'tools/call', params: { name, arguments: args as Record<string, unknown> } };
      const called = client.request(request, toolResult, options);
      const result = await unlessAborted(called, requests.misbehaviour).catch((error: unknown) => {
        throw hotcellErrorIn(error) ?? (error instanceof ProtocolError ? notOffered(base, error) : broken(base, error));
      });
      if (result.isError === true) throw remoteError(base, { error: result._meta?.[ERROR_META] });
      return { data: result.structuredContent, pictures: result.content.flatMap(pictureIn) };
    },
    async run(session, request) {
      const response = await requests.fetch(new URL(`/run/${encodeURIComponent(session)}`, base), {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(request),
      });
      if (!response.ok) throw remoteError(base, await requests.errorBody(response));
      return streamedRun(requests.pieces(response), base, (answer) => remoteError(base, answer));
    },
    async *watch(session, signal) {
      const url = new URL(`/run/${encodeURIComponent(session)}/executions`, base);
      const response = await requests.fetch(url, { headers, signal });
      if (!response.ok) throw remoteError(base, await requests.errorBody(response));
      yield* linesOf(requests.pieces(response), base, watchLine);
    },
    async ask(session, question, about) {
      const response = await requests.fetch(new URL(`/run/${encodeURIComponent(session)}/${question}`, base), {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(about),
      });
      if (!response.ok) throw remoteError(base, await requests.errorBody(response));
      return requests.jsonBody(response, LARGEST_ANSWER_BYTES);
    },
    async *stream(session, path) {
      const response = await requests.fetch(new URL(filePath({ session, path }), base), { headers });
      if (!response.ok) throw remoteError(base, await requests.errorBody(response));
      yield* requests.pieces(response);
    },
    [Symbol.asyncDispose]: async () => {
      await client.close();
      requests.close();
    },
  };
}

/** The parts of a result that the CLI uses. */
const toolResult = z.object({
  content: z.array(z.unknown()).max(1_000).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});

const pictureBlock = z.object({ type: z.literal('image'), mimeType: z.string().max(200), data: z.string() });

function pictureIn(block: unknown): RemoteAnswer['pictures'] {
  const { data: picture } = pictureBlock.safeParse(block);
  return picture === undefined ? [] : [{ mediaType: picture.mimeType, data: Buffer.from(picture.data, 'base64') }];
}

export type RemoteExecution = z.infer<typeof executionOutput>;

export function parseExecution(answer: unknown, server: string): RemoteExecution {
  const parsed = executionOutput.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw misbehaved(serverUrl(server), 'sent an invalid result');
}

/** The id of an opened session. */
export function parseSession(answer: unknown, server: string): string {
  const parsed = z.object({ session_id: z.string().min(1).max(200) }).safeParse(answer);
  if (parsed.success) return parsed.data.session_id;
  throw misbehaved(serverUrl(server), 'sent an invalid session');
}

const MOST_PACKAGES = 1_000;
const packageText = z.string().max(200);

const installation = z.object({
  installed: z.array(z.object({ name: packageText, version: packageText })).max(MOST_PACKAGES),
  superseded: z.array(z.object({ name: packageText, from: packageText, to: packageText })).max(MOST_PACKAGES),
});

/** The packages that a server installed. */
export function parseInstallation(answer: unknown, server: string): z.infer<typeof installation> {
  const parsed = installation.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw misbehaved(serverUrl(server), 'sent an invalid installation');
}

/** Finds the HotcellError that ended a request of the SDK, which may have wrapped it. */
function hotcellErrorIn(error: unknown): HotcellError | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof HotcellError) return cause;
  return undefined;
}

/** The error for an answer that the SDK could not read, or that never came. */
function broken(base: URL, cause: unknown): HotcellError {
  return new HotcellError(
    'server_misbehaved',
    `the connection to ${base.origin} was lost, or its response cannot be parsed`,
    {
      remedy: 'Check the server, and retry.',
      cause,
    },
  );
}

/**
 * The error for a server without Hotcell's tools. Failures of the tools themselves are results, not protocol errors.
 */
function notOffered(base: URL, cause: ProtocolError): HotcellError {
  return new HotcellError(
    'not_offered',
    `${base.origin} does not have Hotcell's own tools; ${saidByServer(cause.message)}`,
    {
      remedy: 'Start it with --profile hotcell, or with several profiles: --profile hotcell,code-sandbox.',
      cause,
    },
  );
}

/** Finds out why there is no connection, with a plain HTTP request, whose answer has the server's own error. */
async function unreachable(
  base: URL,
  headers: Record<string, string>,
  requests: ServerRequests,
  cause: unknown,
): Promise<HotcellError> {
  try {
    const response = await requests.fetch(new URL('/mcp', base), { method: 'POST', headers, body: '{}' });
    if (response.status === 401 || response.status === 403) {
      return remoteError(base, await requests.errorBody(response));
    }
    await response.body?.cancel();
  } catch (error) {
    if (error instanceof HotcellError) return error;
    return noServer(base);
  }
  return new HotcellError('engine_failed', `${base.origin} is not a Hotcell server: its MCP responses differ`, {
    remedy: 'Check the address: `hotcell serve` prints it.',
    cause,
  });
}
