import { describe, expect, it } from 'vitest';
import { toolCall } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants } from '../support/two-tenants.ts';

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

interface Listed {
  readonly resources: readonly { readonly uri: string }[];
  readonly nextCursor?: string;
}

/** The message in a response, which is JSON or a stream of one event. */
function resultIn(body: Buffer): { readonly result?: Listed; readonly error?: object } {
  const text = body.toString();
  return JSON.parse(text.startsWith('{') ? text : /^data: (\{.*)$/m.exec(text)![1]!);
}
