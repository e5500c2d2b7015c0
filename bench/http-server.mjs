import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { execPath } from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterwards } from './cleanup.mjs';
import { connectRaw } from './mcp-over-http.mjs';
import { NotTried } from './not-tried.mjs';

const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url));

/** The built `hotcell serve` in a process of its own, with clients of the SDK. */
export async function serveForBench(args = ['--isolation', 'process']) {
  if (!existsSync(cli)) throw new NotTried('there is no dist/cli.js');
  const child = spawn(execPath, [cli, 'serve', '--port', '0', '--json', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const stop = afterwards(async () => {
    if (child.exitCode === null) child.kill('SIGTERM');
    await closed;
  });
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    closed.then(() => undefined),
  ]);
  if (line === undefined) throw new Error('the server ended at its start');
  const { url } = JSON.parse(line[0]);
  return {
    stop,
    residentBytes: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024,
    connectRaw: (era) => connectRaw(url, era),
    async connect(mode) {
      const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode } });
      await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
      return client;
    },
  };
}

/** Runs code in a session and returns the session's id. Throws if that failed. */
export async function runCode(client, code, session) {
  const args = { code, ...(session === undefined ? {} : { session_id: session }) };
  const { isError, content, _meta } = await client.callTool({ name: 'run_code', arguments: args });
  const facts = _meta?.['dev.hotcell/result'];
  if (isError || facts?.outcome !== 'ok') throw new Error(JSON.stringify(content));
  return facts.session_id;
}
