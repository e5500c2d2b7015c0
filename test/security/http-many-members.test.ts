import { describe, expect, it } from 'vitest';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants, type Tenant, type TwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const DEEP = `${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`;

function keys(count: number, key = 'k', value: unknown = 0): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${key}${index}`, value]));
}

const call = (name: string, args: object) => ({ method: 'tools/call', params: { name, arguments: args } });
/** Each with as many members as it is told. */
const MESSAGES: Readonly<Record<string, (count: number) => object>> = {
  'names in _meta': (count) => ({ method: 'tools/list', params: { _meta: keys(count) } }),
  'unknown arguments': (count) => call('run_code', keys(count)),
  'wrong names of variables': (count) => call('open_session', { environment: keys(count, '1', '') }),
  'mounts that are none': (count) => call('open_session', { mounts: Array(count).fill(0) }),
  'wrong arguments of a prompt': (count) => ({
    method: 'prompts/get',
    params: { name: 'analyse_data', arguments: keys(count) },
  }),
  'an unknown method': (count) => ({ method: 'no/such', params: { x: Array(count).fill([]) } }),
  capabilities: (count) => ({
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: { experimental: keys(count, 'k', {}) },
      clientInfo: { name: 'x', version: '1' },
    },
  }),
};

describe.skipIf(skipped !== undefined)('a message of very many members', () => {
  const post = ({ hotcell, tokens }: TwoTenants, body: string, who: Tenant = 'mallory', path = '/mcp') =>
    hotcell.send('POST', path, { token: tokens[who], headers: HEADERS, body });
  const text = (message: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, ...message });

  it.each(['hotcell', 'code-sandbox'] as const)('is refused before anything looks at them: %s', async (profile) => {
    await using tenants = await serveTwoTenants({ profile: [profile] });
    for (const make of Object.values(MESSAGES)) {
      const body = text(make(250_000));
      const begin = performance.now();
      const answer = await post(tenants, body);
      expect([answer.status, answer.body.length < 1_000]).toEqual([400, true]);
      expect(answer.json()).toMatchObject({ error: { code: -32600, message: expect.stringContaining('10000') } });
      expect(performance.now() - begin).toBeLessThan(1_500);
    }
  });

  it('gets a short answer where it is just small enough', async () => {
    await using tenants = await serveTwoTenants();
    for (const [name, make] of Object.entries(MESSAGES)) {
      const begin = performance.now();
      const { status, body } = await post(tenants, text(make(4_900)));
      expect(status, name).toBeLessThan(500);
      if (name !== 'names in _meta') expect(body.length, name).toBeLessThan(10_000);
      expect(performance.now() - begin, name).toBeLessThan(3_000);
    }
    const long = await post(tenants, text(call('run_code', { code: '1', ['k'.repeat(3_000_000)]: 1 })));
    expect([long.status, long.body.length < 10_000]).toEqual([200, true]);
  });

  it('is refused by POST /run too', async () => {
    await using tenants = await serveTwoTenants();
    for (const body of [JSON.stringify({ code: '1', ...keys(250_000) }), `{"code":${DEEP}}`]) {
      const answer = await post(tenants, body, 'mallory', '/run/default');
      expect([answer.status, answer.body.length < 1_000]).toEqual([400, true]);
      expect(answer.json()).toMatchObject({ error: { code: 'invalid_argument' } });
    }
  });

  it.each([
    ['a deep one', `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"x":${DEEP}}}}`],
    ['a long address', text({ method: 'resources/read', params: { uri: `hotcell://${'x'.repeat(3_500_000)}` } })],
    ['a long name', text(call('x'.repeat(3_500_000), {}))],
    ['a long method', text({ method: 'x'.repeat(3_500_000) })],
    ['a long id', text({ id: 'x'.repeat(3_500_000), method: 'tools/list' })],
    ['a long token', text({ method: 'tools/list', params: { _meta: { progressToken: 'x'.repeat(3_500_000) } } })],
    ['one in a list', `[${text({ method: 'x'.repeat(3_500_000) })}]`],
  ])('or %s is refused in a few words', async (_, body) => {
    await using tenants = await serveTwoTenants();
    const answer = await post(tenants, body);
    expect([answer.status, answer.body.length < 1_000]).toEqual([400, true]);
    expect(answer.json()).toMatchObject({ error: { code: -32600 } });
  });
});
