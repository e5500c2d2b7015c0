import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERROR_META } from '../../src/mcp/present/error-result.ts';
import { type Online, startOnline } from '../support/online.ts';
import { type ServedHotcell, serveForTest, toolCall } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skipped = await reasonToSkip(TARGETS.shared);

/** Tokens of one server whose sessions may reach different hosts. */
describe.skipIf(skipped !== undefined)('the network of a token', () => {
  let servers: Online;
  let hotcell: ServedHotcell;
  const tokens: Record<string, string> = {};
  beforeAll(async () => {
    servers = await startOnline();
    const { http, echo } = servers.ports;
    const options = { ...servers.options, sessionNetwork: [`web.test:${http}`], tokens: 'always' as const };
    hotcell = await serveForTest(options, async (store) => {
      for (const [name, network] of [
        ['usual', undefined],
        ['sealed', ['none']],
        ['narrow', [`web.test:${echo}`]],
      ] as const) {
        tokens[name] = (await store.create(name, { network })).text;
      }
    });
  });
  afterAll(async () => {
    await hotcell?.[Symbol.asyncDispose]();
    servers?.[Symbol.dispose]();
  });

  // biome-ignore lint/suspicious/noExplicitAny: the tests know what a tool answers with
  async function call(who: string, name: string, args: object = {}): Promise<any> {
    const answer = await hotcell.send('POST', '/mcp', { ...toolCall(name, args), token: tokens[who]! });
    const { result, error } = JSON.parse(/^data: (.*)$/m.exec(answer.body.toString())?.[1] ?? answer.body.toString());
    return error ?? (result.isError ? result._meta[ERROR_META] : result.structuredContent);
  }

  const reach = (port: number) =>
    `import urllib.request\nprint(urllib.request.urlopen("http://web.test:${port}/", timeout=10).status)`;

  it('is that of the server, unless the token has one of its own', async () => {
    const { http } = servers.ports;
    expect(await call('usual', 'run_code', { code: reach(http) })).toMatchObject({ outcome: 'ok', stdout: '200\n' });
    const narrow = await call('narrow', 'run_code', { code: reach(http) });
    expect(narrow).toMatchObject({ network: { refused: [{ host: 'web.test', port: http, why: 'not-allowed' }] } });
    expect(narrow.notes.join()).toMatch(/Only the user can allow it: --network web\.test/);
    expect(await call('sealed', 'run_code', { code: reach(http) })).toMatchObject({ outcome: 'raised' });
  });

  it.each([['sealed'], ['narrow']])(
    'is the most that it can ask for, and what it has is no way around: %s',
    async (who) => {
      const asked = { network: [`web.test:${servers.ports.http}`] };
      const denied = { code: 'network_denied', remedy: expect.stringContaining('--network') };
      expect(await call(who, 'open_session', asked)).toMatchObject(denied);
      expect(await call(who, 'open_session', { network: ['all'] })).toMatchObject(denied);
      expect(await call(who, 'set_network', asked)).toMatchObject(denied);
      expect(await call(who, 'run_code', { code: reach(servers.ports.http) })).toMatchObject({ outcome: 'raised' });
    },
  );

  it('decides whether set_network is listed', async () => {
    const list = async (who: string) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
      const answer = await hotcell.send('POST', '/mcp', { ...toolCall(''), body, token: tokens[who]! });
      return answer.body.toString().includes('"set_network"');
    };
    expect([await list('usual'), await list('narrow'), await list('sealed')]).toEqual([true, true, false]);
    expect(await call('sealed', 'set_network', { network: ['all'] })).toMatchObject({ code: 'network_denied' });
  });

  it('is in the audit log and in the metrics, with every decision, and without paths and contents', async () => {
    const { http } = servers.ports;
    await call('usual', 'set_network', { network: [`web.test:${http}`] });
    const code = `import urllib.request\nurllib.request.urlopen("http://web.test:${http}/secret-path?key=hunter2", timeout=10)`;
    await call('usual', 'run_code', { code });
    await call('usual', 'run_code', { code: code.replace('web.test', 'api.test') });
    const exposition = await hotcell.server.telemetry.exposition();
    expect(exposition.text).toMatch(/hotcell_connections_total\{event="refused",reason="not-allowed"\} [1-9]/);
    expect(exposition.text).toMatch(/hotcell_connections_total\{event="opened",reason=""\} [1-9]/);
    await expect
      .poll(() => readFileSync(join(hotcell.home, 'audit', 'audit.jsonl'), 'utf8'), { timeout: 5_000 })
      .toMatch(/connection-refused.*api\.test/);
    const lines = readFileSync(join(hotcell.home, 'audit', 'audit.jsonl'), 'utf8');
    const entries = lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(entries).toContainEqual(
      expect.objectContaining({ event: 'connection-refused', host: 'api.test', port: http, outcome: 'not-allowed' }),
    );
    expect(entries).toContainEqual(
      expect.objectContaining({
        event: 'network-changed',
        policy: { network: [`web.test:${http}`] },
        via: 'set_network',
      }),
    );
    expect(lines).not.toMatch(/hunter2|secret-path/);
  });
});
