import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Answer, Dialect, Json, ToolCall, ToolResult } from './dialect.ts';

/** What the scripted model does next, given what its calls have returned so far; undefined where it has said all. */
export type Script = (results: readonly ToolResult[]) => ToolCall | undefined;

export interface ScriptedModel {
  readonly port: number;
  /** What the client has handed back to the model, oldest first. */
  readonly results: () => readonly ToolResult[];
  /** The requests so far, with the tools that they offer: for the report of a client that never calls one. */
  readonly requests: () => readonly string[];
  readonly close: () => Promise<void>;
}

/**
 * A model on the loopback that calls tools as the script says and records what comes back. A request without Hotcell's tools, such as
 * one for the title of a conversation, gets a few words.
 */
export async function startModel(dialect: Dialect, script: Script): Promise<ScriptedModel> {
  let results: readonly ToolResult[] = [];
  const requests: string[] = [];
  const server = createServer((request, response) => {
    answerOne(request, response).catch((error: Error) => {
      requests.push(`failed: ${error.message}`);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    results: () => results,
    requests: () => requests,
    close: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
  };

  async function answerOne(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const body: Json = request.method === 'POST' ? await json(request) : undefined;
    if (request.method !== 'POST' || !dialect.isTurn(path)) {
      requests.push(`${request.method} ${path}`);
      response.setHeader('content-type', 'application/json').end('{"input_tokens":1}');
      return;
    }
    const tools = dialect.toolsIn(body);
    requests.push(`${request.method} ${path}, which offers ${tools.map(({ name }) => name).join(' ')}`);
    const found = dialect.resultsIn(body);
    if (found.length > results.length) results = found;
    const call = script(found);
    const tool = tools.find(
      ({ name, namespace }) => isHotcells(`${namespace ?? ''}${name}`) && name.endsWith(call?.tool ?? '-'),
    );
    if (
      call !== undefined &&
      tool === undefined &&
      tools.some(({ name, namespace }) => isHotcells(`${namespace ?? ''}${name}`))
    )
      throw new Error(`the client does not offer ${call.tool}`);
    send(response, dialect.answer(found.length, call && tool && { tool, arguments: call.arguments }));
  }
}

const isHotcells = (name: string) => name.includes('hotcell');

function send(response: ServerResponse, { events }: Answer): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' });
  for (const { event, data } of events)
    response.write(`${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`);
  response.end();
}
