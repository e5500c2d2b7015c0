import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RESULT_META } from '../../src/mcp/present/result-meta.ts';
import { type BuiltHotcell, buildHotcell, root } from './built-hotcell.ts';

let hotcell: BuiltHotcell;
beforeAll(async () => {
  hotcell = await buildHotcell();
});
afterAll(() => {
  if (hotcell.unavailable === undefined) expect(hotcell.leftovers()).toEqual([]);
  hotcell.remove();
});

it('links to files work beside a stdio server, which listens from the first file on and on loopback alone', async (context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['dist/cli.js', 'mcp'],
    cwd: root,
    env: { ...(process.env as Record<string, string>), HOTCELL_HOME: hotcell.home, HOTCELL_ISOLATION: 'process' },
    stderr: 'ignore',
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  const run = async (code: string) => {
    const { _meta } = await client.callTool({ name: 'run_code', arguments: { code } });
    return _meta?.[RESULT_META] as { files: { url: string }[]; session_id: string };
  };
  await run('1 + 1');
  expect(listenersOf(transport.pid!)).toEqual([]);
  const { files, session_id } = await run('open("a b.csv", "w").write("x,y\\n")');
  const url = files[0]!.url;
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/files\//);
  expect(listenersOf(transport.pid!)).toEqual(['0100007F']); // 127.0.0.1
  const response = await fetch(url);
  expect([response.status, await response.text()]).toEqual([200, 'x,y\n']);
  const { origin } = new URL(url);
  // Without a link there is nothing, also no way to have an older session of nobody's brought back.
  for (const method of ['GET', 'HEAD', 'PUT']) {
    expect((await fetch(`${origin}/files/${session_id}/a%20b.csv`, { method })).status).toBe(401);
    expect((await fetch(`${origin}/files/default/a`, { method })).status).toBe(401);
  }
  expect((await fetch(url, { method: 'PUT', body: 'x' })).status).toBe(401);
  expect((await fetch(`${origin}/mcp`, { method: 'POST' })).status).toBe(404);
  expect((await fetch(`${origin}/metrics`)).status).toBe(404);
  // A reader that goes in the middle must not put a word on the protocol's stdout.
  await run('open("big", "wb").truncate(50_000_000)');
  const abort = new AbortController();
  const big = (await run('open("big2", "wb").truncate(50_000_000)')).files[0]!.url;
  await fetch(big, { signal: abort.signal });
  abort.abort();
  expect(await run('2 + 2')).toMatchObject({ outcome: 'ok' });
  await client.close();
  await expect(fetch(url)).rejects.toThrow();
});

/** Addresses, as the kernel writes them, on which a process listens. */
function listenersOf(pid: number): string[] {
  const table = readFileSync(`/proc/${pid}/net/tcp`, 'utf8').trim().split('\n').slice(1);
  const own = socketsOf(pid);
  return table
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === '0A' && own.has(inode!))
    .map(([, local]) => local!.split(':')[0]!);
}

function socketsOf(pid: number): Set<string> {
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return ''; // closed meanwhile
    }
  });
  return new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
}
