import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import * as z from 'zod';
import { filePath } from '../../artifacts/file-path.ts';
import { ERROR_CODES, type ErrorCode } from '../../errors/codes.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { ERROR_META } from '../../mcp/present/error-result.ts';
import { executionOutput } from '../../mcp/present/execution-output.ts';
import { type StreamedRun, streamedRun } from './streamed-run.ts';

/** A Hotcell that runs elsewhere, or as a server of its own on this machine. */
export interface RemoteHotcell extends AsyncDisposable {
  /** Calls a tool. Rejects with the error that the server answered with. */
  call(name: string, args: object, options?: { signal?: AbortSignal; timeoutMs?: number }): Promise<RemoteAnswer>;
  /** Runs code in a session. Resolves when it was taken on. */
  run(session: string, request: RunRequest): Promise<StreamedRun>;
  /** A file of a session, in pieces. */
  stream(session: string, path: string): AsyncIterable<Uint8Array>;
}

export interface RunRequest {
  readonly code: string;
  readonly language: string;
  readonly filename: string;
  readonly timeout_ms?: number;
}

export interface RemoteAnswer {
  readonly data: unknown;
  readonly pictures: readonly { readonly mediaType: string; readonly data: Buffer }[];
}

const DAY_MS = 86_400_000;

export async function connectRemote(
  server: string,
  token: string | undefined,
  version: string,
): Promise<RemoteHotcell> {
  const base = serverUrl(server);
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const client = new Client({ name: 'hotcell', version }, { versionNegotiation: { mode: 'auto' } });
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', base), { requestInit: { headers } });
  try {
    await client.connect(transport);
  } catch (error) {
    throw await unreachable(base, headers, error);
  }
  return {
    async call(name, args, { signal, timeoutMs = DAY_MS } = {}) {
      const options = { timeout: timeoutMs, ...(signal === undefined ? {} : { signal }) };
      const result = await client
        .callTool({ name, arguments: args as Record<string, unknown> }, options)
        .catch((error: unknown) => {
          throw error instanceof ProtocolError ? notOffered(base, error) : error;
        });
      if (result.isError === true) throw remoteError({ error: result._meta?.[ERROR_META] });
      const pictures = result.content.flatMap((block) =>
        block.type === 'image' ? [{ mediaType: block.mimeType, data: Buffer.from(block.data, 'base64') }] : [],
      );
      return { data: result.structuredContent, pictures };
    },
    async run(session, request) {
      const response = await fetch(new URL(`/run/${encodeURIComponent(session)}`, base), {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(request),
      });
      if (!response.ok || response.body === null) throw remoteError(await response.json().catch(() => undefined));
      return streamedRun(response.body, remoteError);
    },
    async *stream(session, path) {
      const response = await fetch(new URL(filePath({ session, path }), base), { headers });
      if (!response.ok || response.body === null) throw remoteError(await response.json().catch(() => undefined));
      yield* response.body;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

export type RemoteExecution = z.infer<typeof executionOutput>;

export function parseExecution(answer: unknown): RemoteExecution {
  const parsed = executionOutput.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new HotcellError('internal', 'the server answered with what is no result', {
    remedy: 'Is it a Hotcell of the same version?',
  });
}

function serverUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new HotcellError('invalid_argument', `--server: ${text} is not an http or https address`, {
    remedy: 'For example: --server http://127.0.0.1:7878',
  });
}

const shownError = z.object({
  error: z.object({ code: z.string(), message: z.string(), remedy: z.string().optional() }),
});

/** What the server said, as an error of ours. A code that is not known here is a fault. */
function remoteError(answer: unknown): HotcellError {
  const parsed = shownError.safeParse(answer);
  if (!parsed.success) return new HotcellError('internal', 'the server answered with an error that cannot be read');
  const { code, message, remedy } = parsed.data.error;
  const known: ErrorCode = Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : 'internal';
  return new HotcellError(known, message, remedy === undefined ? {} : { remedy });
}

/** Failures of our tools are results: what refuses a call before that is a server that has none of them. */
function notOffered(base: URL, cause: ProtocolError): HotcellError {
  return new HotcellError('not_offered', `${base.origin} does not offer Hotcell's own tools: ${cause.message}`, {
    remedy: 'Start it with --profile hotcell, or with several: --profile hotcell,code-sandbox.',
    cause,
  });
}

/** Why there is no connection: asked once more in plain HTTP, where the server says it in its own words. */
async function unreachable(base: URL, headers: Record<string, string>, cause: unknown): Promise<HotcellError> {
  try {
    const response = await fetch(new URL('/mcp', base), { method: 'POST', headers, body: '{}' });
    if (response.status === 401 || response.status === 403) return remoteError(await response.json());
  } catch {
    return new HotcellError('engine_failed', `nothing answers at ${base.origin}`, {
      remedy: 'Start a server with `hotcell serve`, or check the address.',
    });
  }
  return new HotcellError('engine_failed', `${base.origin} does not speak MCP as a Hotcell does`, {
    remedy: 'Check the address: it is what `hotcell serve` prints.',
    cause,
  });
}
