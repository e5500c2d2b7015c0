import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { STRUCTURED_HEADER } from '../../src/mcp/present/result-meta.ts';
import type { BuiltHotcell } from './built-hotcell.ts';

/** The built `hotcell serve`, in a process of its own. */
export interface BuiltServer extends AsyncDisposable {
  readonly url: string;
  readonly child: ChildProcess;
  /** Memory that its process has, at this moment. */
  residentBytes(): number;
  client(era: 'legacy' | 'modern', token?: string): Promise<Client>;
  /** Ends it as Ctrl-C does, and answers with its exit code. */
  stop(): Promise<number | null>;
}

export async function startServer(hotcell: BuiltHotcell, args: readonly string[] = []): Promise<BuiltServer> {
  const child = hotcell.start(['dist/cli.js', 'serve', '--port', '0', '--json', ...args]);
  const errors: Buffer[] = [];
  child.stderr!.on('data', (piece) => errors.push(piece));
  const closed = once(child, 'close');
  const first = once(createInterface({ input: child.stdout! }), 'line');
  const line = await Promise.race([first, closed.then(() => undefined)]);
  if (line === undefined) throw new Error(`it ended: ${Buffer.concat(errors)}`);
  const { url } = JSON.parse(line[0] as string) as { url: string };
  async function stop(): Promise<number | null> {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGINT');
    const [code] = await closed;
    return code as number | null;
  }
  return {
    url,
    child,
    stop,
    residentBytes: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024,
    client: async (era, token) => {
      const headers = {
        [STRUCTURED_HEADER]: 'true',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      };
      const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } });
      const mode = era === 'legacy' ? ('legacy' as const) : { pin: '2026-07-28' };
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
      await client.connect(transport);
      return client;
    },
    [Symbol.asyncDispose]: async () => {
      await stop();
    },
  };
}
