import type { JSONRPCMessage, MessageExtraInfo, Transport } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { loadConfig } from '../config/load.ts';
import { anonymousOwner } from '../directory/owner.ts';
import type { CallWatch } from './call-watch.ts';
import type { McpDeps } from './deps.ts';
import { createMcpFactory } from './server.ts';
import { TOOLS } from './tools/index.ts';

const config = loadConfig({}, { env: {} });
const owner = anonymousOwner(config);
const deps = { version: '1', owner, config, directory: { list: () => [] }, hostFiles: {} } as unknown as McpDeps;

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

test('the definitions of all tools take at most 12 KB, as a client gets them', async () => {
  const answer = await answered({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
  const { tools } = (answer as unknown as { result: { tools: Listed[] } }).result;
  expect(tools.map(({ name }) => name)).toEqual(TOOLS.map(({ name }) => name));
  const sizes = tools.map(({ description, inputSchema }) =>
    Buffer.byteLength(description + JSON.stringify(inputSchema)),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(12 * 1024);
  // With names, titles and annotations. Output schemas are not listed unless they are asked for.
  expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThanOrEqual(16 * 1024);
});

interface Listed {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: object;
}

async function answered(message: JSONRPCMessage, call?: CallWatch): Promise<JSONRPCMessage> {
  const authInfo = { token: '', clientId: 'ada', scopes: [], extra: { call } };
  const server = createMcpFactory(deps)();
  return new Promise((resolve, reject) => {
    const transport: Transport = {
      start: async () => {},
      close: async () => {},
      send: async (answer) => resolve(answer),
    };
    server
      .connect(transport)
      .then(() => transport.onmessage?.(message, { authInfo } as MessageExtraInfo))
      .catch(reject);
  });
}
