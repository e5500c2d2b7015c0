import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that answers as a Hotcell does, with whatever it is told to. */
export interface HostileServer extends AsyncDisposable {
  readonly url: string;
  /** What was asked: method and address. */
  readonly asked: readonly string[];
}

export interface HostileAnswers {
  /** The structured content of a tool's result; a whole result where it has `content`. */
  tool(name: string): object;
  run(response: ServerResponse): void;
  file?(response: ServerResponse): void;
  /** True: it has answered the call of a tool itself. */
  call?(name: string, response: ServerResponse): boolean;
  /** The whole answer to a message, with `result` or `error`, before any other of these is asked. */
  message?(method: string): object | undefined;
  /** The stream of notifications. */
  notifications?(response: ServerResponse): void;
}

export async function startHostileHotcell(answers: HostileAnswers): Promise<HostileServer> {
  return startHostileServer(async (request, response) => {
    if (request.url?.startsWith('/run/')) return answers.run(response);
    if (request.url?.startsWith('/files/') && answers.file !== undefined) return answers.file(response);
    if (request.method === 'GET' && answers.notifications !== undefined) return answers.notifications(response);
    if (request.method !== 'POST') return response.writeHead(405).end();
    const message = JSON.parse(await bodyOf(request)) as { id?: unknown; method: string; params?: { name?: string } };
    if (message.id === undefined) return response.writeHead(202).end();
    if (message.method === 'tools/call' && answers.call?.(message.params?.name ?? '', response)) return;
    const result = resultOf(message, answers);
    const usual = result === undefined ? { error: { code: -32601, message: 'not known' } } : { result };
    const answer = answers.message?.(message.method) ?? usual;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer }));
  });
}

export async function startHostileServer(listener: RequestListener): Promise<HostileServer> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.on('error', () => {});
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function resultOf({ method, params }: { method: string; params?: { name?: string } }, { tool }: HostileAnswers) {
  if (method === 'initialize') {
    return {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'hotcell', version: '1' },
    };
  }
  if (method !== 'tools/call') return undefined;
  const answer = tool(params?.name ?? '');
  return 'content' in answer ? answer : { content: [{ type: 'text', text: 'x' }], structuredContent: answer };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('utf8');
}

/** The answers of a server that speaks the newer protocol and refuses the first call, so that a client lists its tools: each has this output schema. */
export function listingServer(tool: { name: string; outputSchema?: object; inputSchema?: object }) {
  const asked: string[] = [];
  const message = (method: string): object | undefined => {
    asked.push(method);
    const isFirstCall = method === 'tools/call' && asked.filter((other) => other === method).length === 1;
    if (isFirstCall) return { error: { code: -32020, message: 'headers do not match' } };
    const common = { resultType: 'complete', ttlMs: 100_000, cacheScope: 'private' };
    const versions = ['2026-07-28'];
    if (method === 'server/discover') {
      const server = { serverInfo: { name: 'h', version: '1' }, capabilities: { tools: {} } };
      return { result: { ...common, ...server, supportedVersions: versions, protocolVersions: versions } };
    }
    if (method === 'tools/list')
      return { result: { ...common, tools: [{ inputSchema: { type: 'object' }, ...tool }] } };
    if (method !== 'tools/call') return undefined;
    return { result: { resultType: 'complete', content: [], structuredContent: { session_id: 'a'.repeat(60) } } };
  };
  return { asked, message };
}
