import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERROR_META } from '../../src/mcp/present/error-result.ts';
import { RESULT_META } from '../../src/mcp/present/result-meta.ts';
import { ERAS, type Era, versionNegotiation } from '../e2e/mcp-client.ts';
import { type Online, startOnline } from '../support/online.ts';
import { type ServedHotcell, serveForTest } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

/** The person at the client is asked for more network than the operator allows, by a real client that shows forms. */

const skipped = await reasonToSkip(TARGETS.shared);

describe.skipIf(skipped !== undefined)('a tool that wants more network than the ceiling', () => {
  let servers: Online;
  let asking: ServedHotcell;
  let silent: ServedHotcell;
  const tokens: string[] = [];
  const tokenOf = (hotcell: ServedHotcell) => tokens[hotcell === silent ? 0 : 1] ?? '';
  beforeAll(async () => {
    servers = await startOnline();
    const options = {
      ...servers.options,
      network: [`web.test:${servers.ports.http}`, '!denied.test'],
      tokens: 'always' as const,
    };
    const create = async (store: ServedHotcell['tokens']) => {
      tokens.push((await store.create('tester')).text);
    };
    silent = await serveForTest(options, create);
    asking = await serveForTest({ ...options, networkAsk: 'always' }, create);
  });
  afterAll(async () => {
    await asking?.[Symbol.asyncDispose]();
    await silent?.[Symbol.asyncDispose]();
    servers?.[Symbol.dispose]();
  });

  test.each(ERAS)('asks, and does what the person allows (%s)', async (era) => {
    await using person = await client(asking, era, 'allows');
    const name = `allowed-${era}`;
    const opened = await person.call('open_session', { name, network: ['a.example', 'b.example:5432'] });
    expect(opened.text).toContain('network a.example, b.example:5432');
    expect(person.questions).toEqual([
      expect.stringMatching(
        /session allowed-\w+ wants to connect to a\.example \(ports 80 and 443\); b\.example:5432\./,
      ),
    ]);
    // Granted once: the session may have it again, and less, without another question.
    for (const network of [['none'], ['b.example:5432']]) {
      expect(await person.call('set_network', { session_id: name, network })).toMatchObject({ isError: false });
    }
    expect(person.questions).toHaveLength(1);
    await person.call('set_network', { session_id: name, network: ['all'] });
    expect(person.questions[1]).toContain('every public host');
    // What a person grants opens no private address: the server of the test is on loopback.
    const reached = await person.call('run_code', {
      session_id: name,
      code: `import urllib.request\nurllib.request.urlopen("http://web.test:${servers.ports.echo}/", timeout=10)`,
    });
    expect(reached.data).toMatchObject({ network: { refused: [{ host: 'web.test', why: 'private-address' }] } });
    await person.call('close_session', { session_id: name });
  });

  test.each(ERAS)('answers network_denied if the person does not allow it (%s)', async (era) => {
    for (const answer of ['declines', 'cancels', 'unchecked'] as const) {
      await using person = await client(asking, era, answer);
      const denied = await person.call('set_network', { network: ['a.example'] });
      expect(denied).toMatchObject({ isError: true, data: { code: 'network_denied' } });
      expect(person.questions).toHaveLength(1);
    }
  });

  test.each(ERAS)(
    'asks nobody where the client shows no forms, or the operator does not allow it (%s)',
    async (era) => {
      await using formless = await client(asking, era, 'none');
      const denied = await formless.call('set_network', { network: ['a.example'] });
      expect(denied).toMatchObject({ isError: true, data: { code: 'network_denied' } });
      expect(denied.text).toContain('--network a.example');
      await using person = await client(silent, era, 'allows');
      expect(await person.call('set_network', { network: ['a.example'] })).toMatchObject({ isError: true });
      expect(person.questions).toEqual([]);
    },
  );

  test.each(ERAS)('never asks for what the operator denied by a rule (%s)', async (era) => {
    await using person = await client(asking, era, 'allows');
    expect(await person.call('set_network', { network: ['denied.test'] })).toMatchObject({ isError: true });
    expect(person.questions).toEqual([]);
  });

  test('takes no answer to a question about something else, nor one that it never asked', async () => {
    const first = await ask(['a.example']);
    const { requestState, inputRequests } = first.result as { requestState: string; inputRequests: object };
    const [key] = Object.keys(inputRequests) as [string];
    const inputResponses = { [key]: { action: 'accept', content: { allow: true } } };
    for (const [network, state] of [
      [['b.example'], requestState],
      [['a.example', 'b.example'], requestState],
      [['a.example'], undefined],
    ] as const) {
      const answer = await ask(network, { inputResponses, ...(state === undefined ? {} : { requestState: state }) });
      expect(answer.result, JSON.stringify(answer)).toMatchObject({ requestState: expect.any(String) });
    }
    const forged = `${requestState.slice(0, -4)}AAAA`;
    expect(await ask(['a.example'], { inputResponses, requestState: forged })).toMatchObject({
      error: { code: -32602 },
    });
    const granted = await ask(['a.example'], { inputResponses, requestState });
    expect(granted.result).toMatchObject({ _meta: { [RESULT_META]: { network: ['a.example'] } } });
  });

  /** One call of `set_network` of the modern era, as a client that makes up its answers sends it. */
  async function ask(
    network: readonly string[],
    more: object = {},
  ): Promise<{ result?: object; error?: { code: number } }> {
    const answer = await asking.send('POST', '/mcp', {
      token: tokenOf(asking),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'set_network',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'set_network',
          arguments: { network },
          ...more,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
          },
        },
      }),
    });
    const text = answer.body.toString();
    return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
  }

  /** A client whose person answers each question so; `none`: a client that shows no forms. */
  async function client(
    hotcell: ServedHotcell,
    era: Era,
    answer: 'allows' | 'declines' | 'cancels' | 'unchecked' | 'none',
  ) {
    const questions: string[] = [];
    const capabilities = answer === 'none' ? {} : { elicitation: { form: {} } };
    const made = new Client(
      { name: 'hotcell-test', version: '1' },
      { versionNegotiation: versionNegotiation(era), capabilities },
    );
    if (answer !== 'none') {
      made.setRequestHandler('elicitation/create', async ({ params }) => {
        questions.push(params.message);
        if (answer === 'declines') return { action: 'decline' };
        if (answer === 'cancels') return { action: 'cancel' };
        return { action: 'accept', content: { allow: answer === 'allows' } };
      });
    }
    await made.connect(
      new StreamableHTTPClientTransport(new URL(`${hotcell.url}/mcp`), {
        requestInit: { headers: { authorization: `Bearer ${tokenOf(hotcell)}` } },
      }),
    );
    return {
      questions,
      async call(name: string, args: Record<string, unknown>) {
        const result = (await made.callTool({ name, arguments: args })) as CallToolResult;
        const [first] = result.content;
        return {
          isError: result.isError === true,
          text: first?.type === 'text' ? first.text : '',
          data: (result._meta?.[ERROR_META] ?? result._meta?.[RESULT_META]) as object,
        };
      },
      [Symbol.asyncDispose]: () => made.close(),
    };
  }
});
