import { expect } from 'vitest';
import type { BuiltHotcell } from './built-hotcell.ts';
import { connectStdio, type Era, type McpConnection, type ToolResult } from './mcp-client.ts';

/** A client of the profile `code-sandbox`, as its users have one. */
export interface SandboxClient extends AsyncDisposable {
  readonly mcp: McpConnection & { readonly pid: number };
  /** What a tool answers with; the text is that same JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: the tests know what a tool answers with
  call(tool: string, args?: Record<string, unknown>): Promise<any>;
  /** The same where a failure is expected, and its form is checked. */
  fail(tool: string, args?: Record<string, unknown>): Promise<FailureReply>;
}

export interface FailureReply {
  readonly error: string;
  readonly message: string;
  readonly size_bytes: number | null;
  readonly download_url: string | null;
}

/** `isolation` empty: what the profile takes by itself. */
export async function connectSandbox(
  hotcell: BuiltHotcell,
  {
    isolation = 'process',
    era = 'modern',
    env = {},
  }: { isolation?: string; era?: Era; env?: Record<string, string> } = {},
): Promise<SandboxClient> {
  const mcp = await connectStdio(hotcell, era, {
    args: ['--profile', 'code-sandbox'],
    env: { HOTCELL_ISOLATION: isolation, ...(isolation === '' ? {} : QUICK), ...env },
  });
  return {
    mcp,
    async call(tool, args) {
      const result = await mcp.call(`sandbox_${tool}`, args);
      expect(result.isError, result.text.slice(0, 2000)).toBe(false);
      return sameInText(result);
    },
    async fail(tool, args) {
      const result = await mcp.call(`sandbox_${tool}`, args);
      expect(result.isError, result.text.slice(0, 2000)).toBe(true);
      const failure = sameInText({ ...result, data: result.data.error });
      expect(Object.keys(failure)).toEqual(['error', 'message', 'size_bytes', 'download_url']);
      return failure;
    },
    [Symbol.asyncDispose]: () => mcp[Symbol.asyncDispose](),
  };
}

function sameInText({ content, data }: ToolResult) {
  const [first] = content;
  expect(first?.type === 'text' && JSON.parse(first.text)).toEqual(data);
  return data;
}

/** Nothing is made ahead: these servers live for a few calls. */
const QUICK = { HOTCELL_POOL_SIZE: '0', HOTCELL_PRELOADS: 'json' };

export const base64 = (text: string) => Buffer.from(text).toString('base64');
