import { describe, expect, it } from 'vitest';
import { type Answer, toolCall } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants, type TwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);

/** Code that replaces the answers of a Python kernel by `body`, a Python expression for bytes. */
const forge = (body: string) => `
import hotcell_guest.answers.answer as answers
_body = ${body}
answers._made = lambda kind, asked: ({"ok": True}, _body)
len(_body)`;

/** Code that makes a hundred files whose paths are almost as long as they may be, of characters that are escaped. */
const LONG_NAMES = `
import os
folder = '/'.join(['\\x7f' * 250] * 14)
os.makedirs(folder)
for number in range(100): open(f'{folder}/{number:03}', 'w').close()`;

describe.skipIf(skipped !== undefined)('answers of a kernel that user code has written', () => {
  it('inspect_variables shows no more than a page of invisible characters', async () => {
    await using tenants = await serveTwoTenants();
    const one = `b'{"name":"n","type":"t","summary":"' + b'\\x7f' * 41_900 + b'"}'`;
    const made = await tenants.call('mallory', 'run_code', {
      code: forge(`b'{"total":24,"variables":[' + b','.join([${one}] * 24) + b']}'`),
    });
    expect(made.body.toString()).toContain('1006'); // a megabyte
    const { status, body } = await tenants.call('mallory', 'inspect_variables', { limit: 100 });
    expect(status).toBe(200);
    expect(body.toString()).toContain('Variables: 19 of 24, from 0; continue with offset 19.');
    expect(body.length).toBeLessThan(600_000); // it was 13 MB
  });

  it.each([
    ['bytes that are not UTF-8, which take three times as many when they are sent', String.raw`b'\xff'`, 200, 10],
    ['more text than a guest makes', `b'x'`, 1990, 515],
  ])('completions are refused if they are %s', async (_, piece, chars, count) => {
    await using tenants = await serveTwoTenants();
    const match = `b'{"text":"' + ${piece} * ${chars} + b'"}'`;
    await tenants.call('mallory', 'run_code', {
      code: forge(`b'{"start":0,"end":0,"matches":[' + b','.join([${match}] * ${count}) + b']}'`),
    });
    const answer = await ask(tenants, 'complete');
    expect(answer.json()).toMatchObject({ error: { code: 'guest_misbehaved' } });
    expect(answer.body.length).toBeLessThan(1_000);
  });

  it.each(['complete', 'inspect'])('the answer to %s counts towards the answers of its owner', async (question) => {
    const limits = { messages: 100, bytes: 1_000_000, totalBytes: 1_000_000 };
    for (const [answerBytes, status] of [
      [1_000_000, 200],
      [20, 429],
    ] as const) {
      await using tenants = await serveTwoTenants({ inFlightLimits: { ...limits, answerBytes } });
      await tenants.call('mallory', 'open_session');
      expect((await ask(tenants, question)).status).toBe(status);
    }
  });

  it('resources/list has pages, which hold a bounded number of characters over all sessions', async () => {
    await using tenants = await serveTwoTenants();
    const { hotcell, tokens } = tenants;
    for (let count = 0; count < 3; count += 1) {
      const { body } = await tenants.call('mallory', 'open_session');
      const session_id = /s-[0-9a-f]{20}/.exec(body.toString())![0];
      await tenants.call('mallory', 'run_code', { code: LONG_NAMES, session_id });
    }
    const list = async (params: object) => {
      const { headers = {} } = toolCall('');
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/list', params });
      const answer = await hotcell.send('POST', '/mcp', { headers, token: tokens.mallory, body });
      expect(answer.body.length).toBeLessThan(1_000_000); // it was 5 MB for each session
      return resultIn(answer.body);
    };
    const uris = new Set<string>();
    let pages = 0;
    for (let cursor: string | undefined = ''; cursor !== undefined; pages += 1) {
      const { resources, nextCursor }: Listed = (await list(cursor === '' ? {} : { cursor })).result!;
      for (const { uri } of resources) uris.add(uri);
      cursor = nextCursor;
    }
    expect(uris.size).toBeGreaterThan(3 * 80); // folders count towards the hundred of a session
    expect(pages).toBeGreaterThan(20);
    expect((await list({ cursor: '1@another' })).error).toMatchObject({ code: -32602 });
  });
});

/** A question about `print`, in mallory's only session. */
function ask({ hotcell, tokens, sessionsOf }: TwoTenants, question: string): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  const { id } = sessionsOf('mallory')[0]!;
  return hotcell.send('POST', `/run/${id}/${question}`, { token: tokens.mallory, headers, body: '{"code":"print"}' });
}

interface Listed {
  readonly resources: readonly { readonly uri: string }[];
  readonly nextCursor?: string;
}

/** The message in a response, which is JSON or a stream of one event. */
function resultIn(body: Buffer): { readonly result?: Listed; readonly error?: object } {
  const text = body.toString();
  return JSON.parse(text.startsWith('{') ? text : /^data: (\{.*)$/m.exec(text)![1]!);
}
