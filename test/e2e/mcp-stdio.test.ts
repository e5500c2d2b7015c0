import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BuiltHotcell, buildHotcell, LEAN_SERVER, root } from './built-hotcell.ts';
import { connectStdio, ERAS } from './mcp-client.ts';

let hotcell: BuiltHotcell;
beforeAll(async () => {
  hotcell = await buildHotcell();
});
afterAll(() => hotcell.remove());
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});

const open: RawServer[] = [];
afterEach(async () => {
  for (const { child, exit } of open.splice(0)) {
    child.stdout!.removeAllListeners('data').resume(); // the last line may be half a one
    child.kill('SIGTERM');
    await exit();
  }
});

// biome-ignore lint/suspicious/noExplicitAny: the tests know what is answered
type Message = { id?: unknown; result?: any; error?: any; params?: any };

/** The built server and its plain lines: what no well-behaved client would send can be sent. */
interface RawServer {
  readonly child: ChildProcess;
  send(...messages: unknown[]): void;
  /** The answer with this id. */
  answer(id: unknown): Promise<Message>;
  notification(test: (message: Message) => boolean): Promise<Message>;
  exit(): Promise<number | null>;
}

function start(home = hotcell.home): RawServer {
  const env = { ...process.env, HOTCELL_HOME: home, HOTCELL_ISOLATION: 'process', ...LEAN_SERVER };
  const child = spawn(process.execPath, ['dist/cli.js', 'mcp'], { cwd: root, env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => {});
  const seen: Message[] = [];
  const waiting = new Set<() => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    seen.push(JSON.parse(line) as Message); // whatever is on stdout is the protocol's
    for (const wake of waiting) wake();
  });
  const exited = once(child, 'exit');
  async function find(test: (message: Message) => boolean): Promise<Message> {
    while (!seen.some(test)) {
      await new Promise<void>((resolve) => waiting.add(resolve).size);
    }
    return seen.find(test)!;
  }
  const server: RawServer = {
    child,
    send: (...messages) => {
      for (const message of messages) {
        child.stdin.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
      }
    },
    answer: (id) => find((message) => message.id === id && ('result' in message || 'error' in message)),
    notification: find,
    exit: async () => (await exited)[0] as number | null,
  };
  open.push(server);
  return server;
}

const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
const call = (id: unknown, name: string, args: object, meta: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args, _meta: meta },
});
const run = (id: unknown, code: string) => call(id, 'run_code', { code });
/** What the program said, or we where it said nothing: the last block. */
const textOf = ({ result }: Message) => result.content.at(-1).text as string;

describe('hotcell mcp', () => {
  it.each(ERAS)('does nothing at all for a client that only looks (%s)', async (era) => {
    const home = mkdtempSync(join(tmpdir(), 'hc-look-'));
    try {
      const mcp = await connectStdio({ ...hotcell, home }, era);
      await mcp.client.listTools();
      await mcp.client.listResources();
      expect((await mcp.call('list_sessions')).data.sessions).toEqual([]);
      await mcp[Symbol.asyncDispose]();
      expect(readdirSync(home)).toEqual([]);
      expect(mcp.stderr()).toBe('');
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });

  it.each(['SIGTERM', 'SIGINT', 'end of stdin', 'nobody reads stdout'])(
    'ends on %s while code runs, and leaves nothing',
    async (how) => {
      const server = start();
      server.send(
        initialize,
        initialized,
        call(1, 'run_code', { code: 'print("on", flush=True)\nwhile True: pass' }, { progressToken: 7 }),
      );
      await server.notification(({ params }) => params?.message?.includes('on'));
      if (how === 'end of stdin') server.child.stdin!.end();
      else if (how === 'nobody reads stdout') server.child.stdout!.destroy();
      else server.child.kill(how as NodeJS.Signals);
      expect(await server.exit()).toBe(0);
      expect(hotcell.leftovers()).toEqual([]);
    },
  );

  it('ends on the end of stdin while a session is being opened, and leaves nothing', async () => {
    const server = start();
    server.send(initialize, initialized, run(1, '1'));
    server.child.stdin!.end();
    expect(await server.exit()).toBe(0);
  });

  it('goes on after messages that are no JSON, no JSON-RPC, or for nobody', async () => {
    const server = start();
    server.send(
      ...[
        'not json',
        '{"half": ',
        '[]',
        'null',
        '{}',
        '"text"',
        '\u0000\u0001',
        '{"jsonrpc":"1.0","id":4,"method":"x"}',
      ],
      ...[
        initialize,
        initialized,
        { jsonrpc: '2.0', id: 99, result: {} },
        { jsonrpc: '2.0', method: 'notifications/nonsense' },
      ],
      { jsonrpc: '2.0', id: 5, method: 'no/such/method' },
      { jsonrpc: '2.0', id: 6, method: 'tools/call', params: { name: 'no_such_tool' } },
      { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'run_code', arguments: ['x'] } },
      { jsonrpc: '2.0', id: 8, method: 'tools/call', params: 5 },
    );
    expect((await server.answer(null)).error.code).toBe(-32700);
    expect((await server.answer(4)).error.code).toBe(-32600);
    expect((await server.answer(5)).error.code).toBe(-32601);
    expect((await server.answer(6)).error ?? (await server.answer(6)).result.isError).toBeTruthy();
    expect((await server.answer(7)).error ?? (await server.answer(7)).result.isError).toBeTruthy();
    expect((await server.answer(8)).error).toBeTruthy();
    server.send(run(9, '6 * 7'));
    expect(textOf(await server.answer(9))).toBe('value: 42');
  });

  it('answers a message that is too large with an error, and goes on', async () => {
    const server = start();
    server.send(initialize, initialized);
    const large = 'x'.repeat(33 * 1_048_576);
    server.send(call('first', 'write_file', { path: 'a', content: large }));
    server.send({
      method: 'tools/call',
      params: { name: 'write_file', arguments: { path: 'a', content: large } },
      jsonrpc: '2.0',
      id: 'last',
    });
    expect((await server.answer('first')).error.message).toContain('bytes');
    expect((await server.answer('last')).error.message).toContain('bytes');
    server.send(call(3, 'write_file', { path: 'b', content: 'y'.repeat(12 * 1_048_576) }));
    expect(textOf(await server.answer(3))).toBe(`b: written, ${12 * 1_048_576} bytes`);
  });

  it('keeps clients apart that use the same ids, and answers of one client in any order', async () => {
    const [one, two] = [start(), start()];
    for (const server of [one, two]) server.send(initialize, initialized);
    one.send(run(1, 'who = "one"'));
    two.send(run(1, 'who = "two"'));
    await Promise.all([one.answer(1), two.answer(1)]);
    one.send(run(2, 'who'));
    two.send(run(2, 'who'));
    expect(textOf(await one.answer(2))).toBe("value: 'one'");
    expect(textOf(await two.answer(2))).toBe("value: 'two'");
    one.send(run(3, 'import time; time.sleep(1); "slow"'), call(4, 'list_sessions', {}), run('3', '"after"'));
    await one.answer(4);
    expect(textOf(await one.answer(3))).toBe("value: 'slow'");
    expect(textOf(await one.answer('3'))).toBe("value: 'after'");
  });

  it('stops taking messages from a client that asks and never reads, and does not grow for it', async () => {
    const server = start();
    server.send(initialize, initialized, run(1, '1'));
    await server.answer(1);
    server.child.stdout!.pause();
    let sent = 0;
    let isTaken = true;
    for (; isTaken && sent < 200_000; sent += 1) {
      isTaken = server.child.stdin!.write(
        `${JSON.stringify(call(sent + 10, 'get_execution', { execution_id: 'x'.repeat(90) }))}\n`,
      );
      if (!isTaken)
        isTaken = await Promise.race([once(server.child.stdin!, 'drain').then(() => true), sleep(2_000, false)]);
    }
    expect(isTaken).toBe(false);
    expect(residentBytes(server.child.pid!)).toBeLessThan(250 * 1_048_576);
    server.child.stdout!.resume();
    expect((await server.answer(sent + 9)).result.isError).toBe(true);
  });
});

function residentBytes(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
  return pages * 4096;
}
