import type { JSONRPCMessage, MessageExtraInfo, Transport } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { loadConfig } from '../config/load.ts';
import { anonymousOwner } from '../directory/owner.ts';
import { type CallWatch, LARGEST_ANSWER_BYTES } from './call-watch.ts';
import { defineTool, type Tool } from './define-tool.ts';
import type { McpDeps } from './deps.ts';
import { RESULT_META } from './present/result-meta.ts';
import { createMcpFactory } from './server.ts';
import { TOOLS } from './tools/index.ts';

const config = loadConfig({ network: ['all'] }, { env: {} });
const owner = anonymousOwner(config);
const log = { debug: () => {} };
const deps = { version: '1', owner, config, log, directory: { list: () => [] }, hostFiles: {} } as unknown as McpDeps;

test.each(['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'])(
  'the transport is notified of the call and of the size of its answer: %s',
  async (method) => {
    const told: string[] = [];
    const call: CallWatch = {
      began: () => void told.push('began'),
      mayAnswer: (bytes) => told.push(bytes > 0 ? 'answers' : 'answers nothing') > 0,
      turn: async () => void told.push('turn'),
    };
    await answered({ jsonrpc: '2.0', id: 1, method, params: {} }, call);
    expect(told).toEqual(['began', 'answers', 'turn']);
  },
);

test('no answer is larger than the limit, even if nothing else waits', async () => {
  const flood = defineTool({
    name: 'flood',
    title: 'Flood',
    description: 'Answers with too much.',
    input: z.strictObject({}),
    output: z.object({}),
    annotations: {},
    handler: async () => ({ structured: {}, content: [{ type: 'text', text: 'x'.repeat(LARGEST_ANSWER_BYTES) }] }),
  });
  const call: CallWatch = { began: () => {}, mayAnswer: () => true, turn: async () => {} };
  const asked = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'flood', arguments: {} } } as const;
  const answer = await answered(asked, call, { tools: [flood] });
  expect(answer).toMatchObject({ error: { message: expect.stringContaining('and the limit is 33554432') } });
});

test('the definitions of the basic tools take at most 12 KB, as a client gets them, and each of the others about 1 KB', async () => {
  const answer = await answered({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
  const { tools } = (answer as unknown as { result: { tools: Listed[] } }).result;
  expect(tools.map(({ name }) => name)).toEqual(TOOLS.map(({ name }) => name));
  const sizeOf = ({ description, inputSchema }: Listed) => Buffer.byteLength(description + JSON.stringify(inputSchema));
  const others = TOOLS.filter(({ needsNetwork, needsInstalling }) => needsNetwork || needsInstalling);
  const isOther = ({ name }: Listed) => others.some((tool) => tool.name === name);
  const basic = tools.filter((tool) => !isOther(tool));
  expect(basic.reduce((sum, tool) => sum + sizeOf(tool), 0)).toBeLessThanOrEqual(12 * 1024);
  for (const tool of tools.filter(isOther)) expect(sizeOf(tool)).toBeLessThanOrEqual(1200);
  // With names, titles and annotations. Output schemas are not listed unless they are asked for.
  expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThanOrEqual(18 * 1024);
});

test('a tool learns how long the client waits, from the name of the client and from whether it asks for progress', async () => {
  const askPatience = defineTool({
    name: 'ask_patience',
    title: 'Ask',
    description: 'Answers with the time that the client waits.',
    input: z.strictObject({}),
    output: z.object({ patience_ms: z.number() }),
    annotations: {},
    handler: async (_, { patienceMs }) => ({ structured: { patience_ms: patienceMs }, content: [] }),
  });
  const clientInfo = { name: 'claude-code', version: '2' };
  const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const ask = (params: object) =>
    answered(
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'ask_patience', arguments: {}, ...params } },
      undefined,
      { tools: [askPatience], before: { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize } },
    );
  const facts = (answer: unknown) => (answer as { result: { _meta: object } }).result._meta;
  expect(facts(await ask({}))).toEqual({ [RESULT_META]: { patience_ms: 45_000 } });
  expect(facts(await ask({ _meta: { progressToken: 1 } }))).toEqual({ [RESULT_META]: { patience_ms: 300_000 } });
});

interface Listed {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: object;
}

async function answered(
  message: JSONRPCMessage,
  call?: CallWatch,
  { tools = TOOLS, before }: { tools?: readonly Tool[]; before?: JSONRPCMessage } = {},
): Promise<JSONRPCMessage> {
  const authInfo = { token: '', clientId: 'ada', scopes: [], extra: { call } };
  const server = createMcpFactory(deps, { tools })();
  return new Promise((resolve, reject) => {
    const transport: Transport = {
      start: async () => {},
      close: async () => {},
      send: async (answer) => {
        if ('id' in answer && 'id' in message && answer.id === message.id) resolve(answer);
      },
    };
    server
      .connect(transport)
      .then(() => {
        if (before !== undefined) transport.onmessage?.(before);
        transport.onmessage?.(message, { authInfo } as MessageExtraInfo);
      })
      .catch(reject);
  });
}
