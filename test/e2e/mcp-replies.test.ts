import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ERROR_META } from '../../src/mcp/present/error-result.ts';
import { RESULT_META, STRUCTURED_HEADER } from '../../src/mcp/present/result-meta.ts';
import { type BuiltHotcell, buildHotcell, root } from './built-hotcell.ts';
import { startServer } from './http-server.ts';

// The client is of the SDK's v1: it checks structured content against the schema of the tool, in failed calls too.

let hotcell: BuiltHotcell;
beforeAll(async () => {
  hotcell = await buildHotcell();
});
afterAll(() => hotcell.remove());
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});

async function connect(args: readonly string[] = []): Promise<Client> {
  const client = new Client({ name: 'hotcell-test', version: '1' });
  const env = { ...(process.env as Record<string, string>), HOTCELL_HOME: hotcell.home, HOTCELL_ISOLATION: 'process' };
  const command = { command: process.execPath, args: ['dist/cli.js', 'mcp', ...args], cwd: root };
  await client.connect(new StdioClientTransport({ ...command, env, stderr: 'ignore' }));
  return client;
}

async function call(client: Client, name: string, args: Record<string, unknown>): Promise<CallToolResult> {
  return (await client.callTool({ name, arguments: args })) as CallToolResult;
}

const schemasOf = async (client: Client) => (await client.listTools()).tools.map(({ outputSchema }) => outputSchema);

describe('a reply', () => {
  it('is text for the model, with the facts for programs in `_meta`, and nothing structured', async () => {
    const client = await connect();
    try {
      expect(new Set(await schemasOf(client))).toEqual(new Set([undefined]));
      const { content, structuredContent, _meta } = await call(client, 'run_code', { code: 'print("hello")\n6 * 7' });
      expect(structuredContent).toBeUndefined();
      expect(content.map((block) => block.type === 'text' && block.text)).toEqual([
        'Done.',
        'output:\nhello',
        'value: 42',
      ]);
      const facts = _meta?.[RESULT_META];
      expect(facts).toMatchObject({
        session_id: expect.stringMatching(/^s-/),
        execution_id: expect.stringMatching(/^x-/),
        outcome: 'ok',
        duration_ms: expect.any(Number),
        isolation: { driver: 'process', level: 1 },
      });
      expect(JSON.stringify(facts)).not.toContain('hello');
    } finally {
      await client.close();
    }
  });

  it('has the message of an exception at the length of output, and says where the whole is', async () => {
    const client = await connect();
    try {
      const textsOf = async (name: string, args: Record<string, unknown>) =>
        (await call(client, name, args)).content.map((block) => (block.type === 'text' ? block.text : ''));
      const lines = (count: number) => Array.from({ length: count }, (_, at) => `${at}: a line of the message`);
      const raising = (language: string, count: number) =>
        language === 'python'
          ? `print("before")\nraise ValueError("\\n".join(f"{at}: a line of the message" for at in range(${count})))`
          : `console.log("before"); throw new RangeError(Array.from({length: ${count}}, (_, at) => \`\${at}: a line of the message\`).join("\\n"))`;
      for (const language of ['python', 'javascript']) {
        const [said, , fitting] = await textsOf('run_code', { language, code: raising(language, 400) });
        expect(said).toBe('The code raised an error.');
        expect(fitting).toContain(`Error: ${lines(400).join('\n')}`);

        const [cut, , error] = await textsOf('run_code', { language, code: raising(language, 2_000) });
        expect(error).toContain('Error: 0: a line of the message\n1: a line of the message\n');
        expect(error).toMatch(/\n… 1,\d\d\d lines \([\d,]+ characters\) omitted …\n/);
        expect(error).toContain('\n1999: a line of the message');
        const [, where] = /The message of the exception was cut\. To read all of it: get_execution (.*)\./.exec(cut!)!;
        let whole = '';
        for (let at = JSON.parse(where!); at !== undefined; ) {
          const [ours, log] = await textsOf('get_execution', at);
          whole += log;
          const next = /continue with log_offset (\d+)/.exec(ours!)?.[1];
          at = next === undefined ? undefined : { ...at, log_offset: Number(next) };
        }
        expect(whole).toContain(`Error: ${lines(2_000).join('\n')}`);
        expect(whole).not.toMatch(/^before/m);
      }
    } finally {
      await client.close();
    }
  });

  it('has structured content where a flag asks for it, valid against the schema, and none where the call failed', async () => {
    const client = await connect(['--structured-content']);
    try {
      expect((await schemasOf(client)).every((schema) => schema?.type === 'object')).toBe(true);
      const ran = await call(client, 'run_code', { code: 'print("hello")' });
      expect(ran.structuredContent).toMatchObject({ stdout: 'hello\n', outcome: 'ok' });
      const failed = await call(client, 'read_file', { path: 'nowhere' });
      expect([failed.isError, failed.structuredContent]).toEqual([true, undefined]);
      expect(failed._meta?.[ERROR_META]).toMatchObject({ code: 'file_not_found' });
    } finally {
      await client.close();
    }
  });

  it('has structured content over HTTP for the one client whose header asks for it', async () => {
    await using server = await startServer(hotcell);
    const replyWith = async (headers: Record<string, string>) => {
      const client = new Client({ name: 'hotcell-test', version: '1' });
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } }),
      );
      const [schema] = await schemasOf(client);
      const { structuredContent } = await call(client, 'run_code', { code: '6 * 7' });
      await client.close();
      return { isListed: schema !== undefined, value: (structuredContent as { value?: string } | undefined)?.value };
    };
    expect(await replyWith({ [STRUCTURED_HEADER]: 'true' })).toEqual({ isListed: true, value: '42' });
    expect(await replyWith({})).toEqual({ isListed: false, value: undefined });
  });
});
