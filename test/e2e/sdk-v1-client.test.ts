import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ERROR_META } from '../../src/mcp/present/error-result.ts';
import { type BuiltHotcell, buildHotcell, root } from './built-hotcell.ts';

let hotcell: BuiltHotcell;
beforeAll(async () => {
  hotcell = await buildHotcell();
});
afterAll(() => hotcell.remove());
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});

/** Gemini CLI, the Inspector and others stand on this SDK. It checks structured content against the tool's schema in failed calls too. */
async function connectV1(args: readonly string[] = []): Promise<Client> {
  const client = new Client({ name: 'hotcell-test', version: '1' });
  const env = { ...(process.env as Record<string, string>), HOTCELL_HOME: hotcell.home, HOTCELL_ISOLATION: 'process' };
  const command = { command: process.execPath, args: ['dist/cli.js', 'mcp', ...args], cwd: root };
  await client.connect(new StdioClientTransport({ ...command, env, stderr: 'ignore' }));
  await client.listTools();
  return client;
}

describe('a client on the TypeScript SDK v1', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['read_file', { path: 'nowhere' }, 'file_not_found'],
    ['run_code', { code: '1', session_id: 'nowhere' }, 'session_not_found'],
    ['open_session', { limits: { memory_mb: 1 } }, 'invalid_argument'],
    ['inspect_variables', { expression: '1/0' }, 'evaluation_failed'],
    ['get_execution', { execution_id: 'x-0' }, 'execution_not_found'],
  ])('reads code and remedy of a failed %s', async (name, given, code) => {
    const client = await connectV1();
    try {
      const { isError, content, _meta } = await client.callTool({ name, arguments: given });
      const [{ text }] = content as [{ text: string }];
      const error = _meta?.[ERROR_META] as { code: string; remedy: string };
      expect([isError, error.code]).toEqual([true, code]);
      expect(text).toContain(`Error ${code}: `);
      expect(text).toContain(`→ ${error.remedy}`);
    } finally {
      await client.close();
    }
  });

  it('reads the error of a tool of the profile code-sandbox, and a success still has its data', async () => {
    const client = await connectV1(['--profile', 'code-sandbox']);
    try {
      const { isError, content } = await client.callTool({
        name: 'sandbox_run_python',
        arguments: { session_id: 's-0' },
      });
      const [{ text }] = content as [{ text: string }];
      expect([isError, Object.keys(JSON.parse(text))]).toEqual([
        true,
        ['error', 'message', 'size_bytes', 'download_url'],
      ]);
      const ran = await client.callTool({ name: 'sandbox_run_python', arguments: { code: 'print(6 * 7)' } });
      expect(ran.structuredContent).toMatchObject({ exit_code: 0, stdout: '42\n' });
    } finally {
      await client.close();
    }
  });
});
