import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import type { TestContext } from 'vitest';
import { ERROR_META } from '../../src/mcp/present/error-result.ts';
import { onlyWithAll } from '../support/strength.ts';
import { type BuiltHotcell, LEAN_SERVER, root } from './built-hotcell.ts';
import { startServer } from './http-server.ts';

/** Both protocols that clients speak: with `initialize`, and without. */
export const ERAS = ['legacy', 'modern'] as const;
export type Era = (typeof ERAS)[number];

/** Leaves a case to the modern era in a plain run. `mcp-tools.test.ts` calls each of the tools in both eras. */
export function leaveToModern(era: Era, context: Pick<TestContext, 'skip'>): void {
  const left = era === 'modern' ? undefined : onlyWithAll('tried in the modern era');
  context.skip(left !== undefined, left);
}

export interface CallOptions {
  readonly timeout?: number;
  readonly resetTimeoutOnProgress?: boolean;
  readonly onprogress?: (progress: { progress: number; message?: string | undefined }) => void;
  readonly signal?: AbortSignal;
}

/** The SDK's client and the built server that it started. */
export interface McpConnection extends AsyncDisposable {
  readonly client: Client;
  readonly stderr: () => string;
  /** Calls a tool; the SDK checks the structured content against the tool's schema. */
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<ToolResult>;
}

export interface ToolResult {
  readonly isError: boolean;
  readonly text: string;
  readonly content: readonly ContentBlock[];
  // biome-ignore lint/suspicious/noExplicitAny: the tests know what a tool answers with
  readonly data: any;
}

export function versionNegotiation(era: Era) {
  return era === 'legacy' ? { mode: 'legacy' as const } : { mode: { pin: '2026-07-28' } };
}

interface StdioOptions {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  /** Whether it has the preloads that users have, and a sandbox ahead. */
  readonly allPreloads?: boolean;
}

export async function connectStdio(
  hotcell: BuiltHotcell,
  era: Era,
  { args = [], env = {}, allPreloads = false }: StdioOptions = {},
): Promise<McpConnection & { readonly pid: number }> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['dist/cli.js', 'mcp', ...args],
    cwd: root,
    env: {
      ...(process.env as Record<string, string>),
      HOTCELL_HOME: hotcell.home,
      HOTCELL_ISOLATION: 'process',
      ...(allPreloads ? {} : LEAN_SERVER),
      HOTCELL_STRUCTURED_CONTENT: 'always', // so that the SDK checks the data against the schemas
      ...env,
    },
    stderr: 'pipe',
  });
  let errors = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const client = await connected(transport, era);
  return { ...connectionOf(client), pid: transport.pid!, stderr: () => errors };
}

/** The same over HTTP, with a token: only who has one has a session of their own by default. */
export async function connectHttp(
  hotcell: BuiltHotcell,
  era: Era,
  { args = [] }: { args?: readonly string[] } = {},
): Promise<McpConnection> {
  const { stdout } = await hotcell.run(['dist/cli.js', 'token', 'create', 'tester', '--json']);
  const { token } = JSON.parse(stdout) as { token: string };
  const server = await startServer(hotcell, args);
  let errors = '';
  server.child.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const client = await server.client(era, token);
  await client.listTools();
  return {
    ...connectionOf(client),
    stderr: () => errors,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await server.stop();
    },
  };
}

export async function connected(transport: Parameters<Client['connect']>[0], era: Era): Promise<Client> {
  const client = new Client({ name: 'hotcell-test', version: '1' }, { versionNegotiation: versionNegotiation(era) });
  await client.connect(transport);
  await client.listTools(); // with the schemas at hand the client checks every result
  return client;
}

export function connectionOf(client: Client): Pick<McpConnection, 'client' | 'call' | typeof Symbol.asyncDispose> {
  return {
    client,
    async call(name, args = {}, options = {}) {
      const result = (await client.callTool({ name, arguments: args }, options)) as CallToolResult;
      const texts = result.content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
      return {
        isError: result.isError === true,
        text: texts.join('\n'),
        content: result.content,
        data: result.isError === true ? { error: result._meta?.[ERROR_META] } : result.structuredContent,
      };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
