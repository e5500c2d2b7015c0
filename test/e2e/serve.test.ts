import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { strength } from '../support/strength.ts';
import { type BuiltHotcell, buildHotcell, root } from './built-hotcell.ts';
import { type BuiltServer, startServer } from './http-server.ts';

const MiB = 1_048_576;
const CLIENTS = strength({ plain: 24, all: 100 });

let hotcell: BuiltHotcell;
let server: BuiltServer;
beforeAll(async () => {
  hotcell = await buildHotcell();
  if (hotcell.unavailable === undefined) server = await startServer(hotcell);
});
afterAll(async () => {
  await server?.stop();
  if (hotcell.unavailable === undefined) expect(hotcell.leftovers()).toEqual([]);
  hotcell.remove();
});
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});

// biome-ignore lint/suspicious/noExplicitAny: the tests know what a tool answers with
type Reply = { isError?: boolean; content: any[]; structuredContent: any };
const call = async (client: Client, name: string, args: object = {}, options = {}) =>
  (await client.callTool({ name, arguments: args as Record<string, unknown> }, options)) as unknown as Reply;

describe.each(['legacy', 'modern'] as const)('a client of the %s era', (era) => {
  it('runs code, goes on in the session it was given, and gets what it made by a link', async () => {
    const client = await server.client(era);
    const first = await call(client, 'run_code', { code: 'x = 41\nopen("out.csv", "w").write("a,b\\n1,2\\n")' });
    const { session_id, files } = first.structuredContent;
    const second = await call(client, 'run_code', { code: 'x + 1', session_id });
    expect(second.structuredContent).toMatchObject({ outcome: 'ok', value: '42', session_id });
    const response = await fetch(files[0].url);
    expect([response.status, await response.text()]).toEqual([200, 'a,b\n1,2\n']);
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    await call(client, 'close_session', { session_id });
    expect((await fetch(files[0].url)).status).toBe(404);
    await client.close();
  });

  it('is told how a run goes on, and stops it by going away', async () => {
    const client = await server.client(era);
    const { structuredContent } = await call(client, 'open_session');
    const { session_id } = structuredContent;
    const heard: string[] = [];
    const abort = new AbortController();
    const running = call(
      client,
      'run_code',
      { session_id, code: 'import time\nprint("begun", flush=True)\ntime.sleep(60)' },
      {
        signal: abort.signal,
        onprogress: ({ message }: { message?: string }) => heard.push(message ?? ''),
      },
    );
    running.catch(() => {});
    await expect.poll(() => heard.join()).toContain('begun');
    abort.abort();
    await expect(running).rejects.toThrow();
    // The session is free again long before the sleep is over.
    const after = await call(client, 'run_code', { session_id, code: '1 + 1' });
    expect(after.structuredContent).toMatchObject({ value: '2' });
    await call(client, 'close_session', { session_id });
    await client.close();
  });
});

describe('hotcell serve', () => {
  it('ends on Ctrl-C with everything that runs in it, and says so to whoever waits', async () => {
    const own = await startServer(hotcell);
    const client = await own.client('modern');
    const running = call(client, 'run_code', { code: 'import time; time.sleep(60)' }).catch((error: unknown) => error);
    await expect
      .poll(async () => (await fetch(`${own.url}/metrics`)).text())
      .toContain('hotcell_sessions{state="busy"');
    expect(await own.stop()).toBe(0);
    expect(await running).toBeDefined();
  });

  it('refuses to be reached from elsewhere without a token', async () => {
    const { exitCode, stderr } = await hotcell.run(['dist/cli.js', 'serve', '--host', '0.0.0.0', '--port', '0']);
    expect([exitCode, stderr]).toEqual([
      64,
      expect.stringContaining('→ Create one with `hotcell token create <name>`'),
    ]);
  });

  it('says that its port is taken, and what to do', async () => {
    const { exitCode, stderr } = await hotcell.run(['dist/cli.js', 'serve', '--port', new URL(server.url).port]);
    expect([exitCode, stderr]).toEqual([64, expect.stringContaining('another Hotcell is serving on')]);
  });

  it(`serves ${CLIENTS} clients at once, and starves none`, async () => {
    const one = async (_: unknown, number: number) => {
      const begin = performance.now();
      const client = await server.client(number % 2 === 0 ? 'modern' : 'legacy');
      const { structuredContent } = await call(client, 'run_code', { code: `x = ${number}` });
      const { session_id } = structuredContent;
      const second = await call(client, 'run_code', { code: 'x + 1', session_id });
      expect(second.structuredContent.value).toBe(String(number + 1));
      await call(client, 'close_session', { session_id });
      await client.close();
      return performance.now() - begin;
    };
    const times = await Promise.all(Array.from({ length: CLIENTS }, one));
    const [median, slowest] = [times.sort((a, b) => a - b)[CLIENTS / 2]!, times.at(-1)!];
    expect(slowest).toBeLessThan(3 * median);
  });

  it('takes hundreds of megabytes up and down, a slow reader among them, and hardly grows', async () => {
    const client = await server.client('modern');
    const limits = { memory_mb: 4096, disk_mb: 1500 };
    const { structuredContent } = await call(client, 'open_session', { limits });
    const { session_id } = structuredContent;
    const address = `${server.url}/files/${session_id}/large.bin`;
    const size = strength({ plain: 70, all: 500 }) * MiB;
    // Once with a small one: what a first transfer loads and compiles is there whatever its size.
    expect(await upload(address, 4 * MiB)).toBe(201);
    expect(await download(address)).toBe(4 * MiB);
    const before = server.residentBytes();
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, server.residentBytes());
    }, 20);
    expect(await upload(address, size)).toBe(201);
    const slow = download(address, { takeBytes: strength({ plain: 20, all: 60 }) * MiB, pauseMs: 20 });
    expect(await Promise.all([download(address), download(address)])).toEqual([size, size]);
    expect(await slow).toBeGreaterThan(10 * MiB);
    clearInterval(watch);
    expect((most - before) / MiB).toBeLessThan(50);
    await call(client, 'close_session', { session_id });
    await client.close();
  });
});

/** Sends random bytes, as fast as they are taken. */
function upload(address: string, size: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sending = request(address, { method: 'PUT', headers: { 'content-length': size } }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    sending.on('error', reject);
    const piece = randomBytes(MiB);
    let left = size / MiB;
    const send = () => {
      while (left > 0) {
        left -= 1;
        if (!sending.write(piece)) return;
      }
      sending.end();
    };
    sending.on('drain', send);
    send();
  });
}

/** Reads, perhaps slowly and not to the end, and answers with how much there was. */
function download(address: string, slow?: { takeBytes: number; pauseMs: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    const asking = request(address, async (response: IncomingMessage) => {
      let size = 0;
      for await (const piece of response) {
        size += piece.length;
        if (slow !== undefined) await sleep(slow.pauseMs);
        if (slow !== undefined && size > slow.takeBytes) break;
      }
      resolve(size);
    });
    asking.on('error', reject);
    asking.end();
  });
}

describe('hotcell run --server', () => {
  /** The command line of a program there. */
  const there = (code: string, ...flags: string[]) => ({
    args: ['run', '-c', code, '--server', server.url, ...flags],
  });

  it('runs a program there, with its output and its exit code', async () => {
    const [printed, exited, raised, late] = await hotcell.runEach([
      there('import sys\nprint(6 * 7)\nprint("err", file=sys.stderr)'),
      there('import sys; sys.exit(7)'),
      there('1 / 0'),
      there('while True: pass', '--timeout', '300ms'),
    ]);
    expect(printed).toEqual({ exitCode: 0, stdout: '42\n', stderr: 'err\n' });
    expect(exited).toMatchObject({ exitCode: 7 });
    expect(raised).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('ZeroDivisionError') });
    expect(late).toMatchObject({ exitCode: 124 });
  });

  it('reads a program from stdin', async () => {
    const finished = await hotcell.run(['dist/cli.js', 'run', '-', '--server', server.url], { stdin: 'print(6 * 7)' });
    expect(finished).toEqual({ exitCode: 0, stdout: '42\n', stderr: '' });
  });

  it('gives what was printed as it was printed, all of it, and ends as it does here', async () => {
    const flood = `import os, sys
for n in range(20_000):
    print(n, "é€🙂" * 3, end="\\r\\n" if n % 7 else "\\n")
    if n % 100 == 0: print("err", n, file=sys.stderr)
sys.stdout.flush(); os.write(1, b"\\xff\\xfe\\x1b[31mred"); print("x" * 1_000_000)`;
    const died = 'import os, signal; print("a", flush=True); os.kill(os.getpid(), signal.SIGSEGV)';
    const [raised, displayed] = ['{}["a"]', 'display("shown")'];
    // One program after the other in one run says as much of what is printed; that each ends as it does here alone is for all.
    const programs = strength({
      plain: [`${flood}\n${died}`, `${displayed}\n${raised}`],
      all: [flood, died, raised, displayed],
    });
    const all = await hotcell.runEach(programs.flatMap((code) => [{ args: ['run', '-c', code] }, there(code)]));
    for (const [index] of programs.entries()) {
      const [atHome, away] = all.slice(2 * index);
      expect(away!.stdout === atHome!.stdout && away!.stdout.length).toBe(atHome!.stdout.length);
      expect([away!.exitCode, away!.stderr]).toEqual([atHome!.exitCode, atHome!.stderr]);
    }
    expect(all[0]!.stdout.length).toBeGreaterThan(1_300_000);
  });

  it('shows what is printed at once, and Ctrl-C interrupts it there', async () => {
    const program = `${hotcell.home}/slow.py`;
    writeFileSync(program, 'import time\nprint("begun")\ntry:\n  time.sleep(60)\nfinally:\n  print("last words")\n');
    const child = hotcell.start(['dist/cli.js', 'run', program, '--server', server.url]);
    let [said, told] = ['', ''];
    child.stdout!.on('data', (text) => {
      said += text;
    });
    child.stderr!.on('data', (text) => {
      told += text;
    });
    const closed = once(child, 'close');
    await expect.poll(() => said).toBe('begun\n');
    child.kill('SIGINT');
    expect(await closed).toEqual([130, null]);
    expect([said, told]).toEqual(['begun\nlast words\n', 'hotcell: interrupted.\n']);
    await expect.poll(async () => (await fetch(`${server.url}/metrics`)).text()).not.toMatch(/state="busy".* [1-9]/);
  });

  it('ends the program when its reader goes, or it is killed itself', async () => {
    const flood = 'import itertools\nfor n in itertools.count(): print(n)';
    const line = `${process.execPath} dist/cli.js run - --server ${server.url} | head -1; exit \${PIPESTATUS[0]}`;
    const { status, stdout } = spawnSync('bash', ['-c', line], { cwd: root, encoding: 'utf8', input: flood });
    expect([status, stdout]).toEqual([141, '0\n']);
    const program = `${hotcell.home}/flood.py`;
    writeFileSync(program, flood);
    const child = hotcell.start(['dist/cli.js', 'run', program, '--server', server.url]);
    await once(child.stdout!, 'data');
    child.kill('SIGKILL');
    const busy = async () => /state="busy".* [1-9]/.test(await (await fetch(`${server.url}/metrics`)).text());
    await expect.poll(busy).toBe(false);
  });

  it('makes the program wait for a reader that is slow, and the server hardly grows', async () => {
    const client = await server.client('modern');
    const { structuredContent } = await call(client, 'open_session');
    const { session_id } = structuredContent;
    const before = server.residentBytes();
    const asking = request(`${server.url}/run/${session_id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    asking.end(JSON.stringify({ code: 'while True: print("x" * 10_000)', timeout_ms: 60_000 }));
    const [response] = (await once(asking, 'response')) as [IncomingMessage];
    let most = before;
    for (let turn = 0; turn < 30; turn += 1) {
      response.read(1000);
      await sleep(100);
      most = Math.max(most, server.residentBytes());
    }
    expect((most - before) / MiB).toBeLessThan(50);
    response.destroy();
    await call(client, 'close_session', { session_id });
    await client.close();
  });

  it('goes on in a session of a name', async () => {
    const [, again, elsewhere] = await hotcell.runEach([
      there('x = 20', '--session', 'kept'),
      there('print(x + 1)', '--session', 'kept'),
      there('print(x)'),
    ]);
    expect(again).toMatchObject({ exitCode: 0, stdout: '21\n' });
    expect(elsewhere!.exitCode).toBe(1);
  });

  it('says what was made and goes with the sandbox, and nothing of it where the session stays', async () => {
    const program = 'open("a.txt", "w").write("made")';
    const [gone, stays] = await hotcell.runEach([there(program), there(program, '--session', 'kept')]);
    expect(gone!.stderr).toBe('hotcell: not saved: a.txt (4 bytes). Save them with --save-artifacts <folder>.\n');
    expect(stays!.stderr).toBe('');
  });

  it('keeps what was made', async () => {
    const out = `${hotcell.home}/out`;
    const [file, figure] = await hotcell.runEach([
      there('open("a b.txt", "w").write("made there")', '--save-artifacts', out),
      there('import matplotlib.pyplot as plt\nplt.plot([1, 2])', '--save-artifacts', out),
    ]);
    expect(file!.stderr).toContain(`hotcell: saved "${out}/a b.txt"`);
    expect(readFileSync(`${out}/a b.txt`, 'utf8')).toBe('made there');
    expect(figure!.stderr).toContain(`hotcell: saved ${out}/figure-1.png`);
    expect(readFileSync(`${out}/figure-1.png`).subarray(1, 4).toString()).toBe('PNG');
  });

  it('says what is wrong with a server', async () => {
    const [nowhere, wrong] = await hotcell.runEach([
      { args: ['run', '-c', '1', '--server', 'http://127.0.0.1:1'] },
      there('1', '--token', 'wrong'),
    ]);
    expect(nowhere).toMatchObject({
      exitCode: 69,
      stderr: expect.stringContaining('no server responds at http://127.0.0.1:1'),
    });
    expect(wrong).toMatchObject({ exitCode: 77, stderr: expect.stringContaining('the token is not valid') });
  });
});

describe('a request that makes no sense', () => {
  const post = (path: string, body: string, type = 'application/json') =>
    fetch(`${server.url}${path}`, { method: 'POST', body, headers: { 'content-type': type } });

  it.each([
    ['a look at the server with a browser', () => fetch(server.url), 404, /MCP is at \/mcp/],
    ['code for no session', () => post('/run', '{"code": "1"}'), 405, /open_session/],
    ['code that is not JSON', () => post('/run/s', 'code=1', 'text/plain'), 400, /^Send \{"code": …\}/],
    ['a request without code', () => post('/run/s', '{"kode": "1"}'), 400, /^Send \{"code": …\}/],
    ['the address of no file', () => fetch(`${server.url}/files/s/`), 400, /^Use \/files\/\{session\}\/\{path\}/],
  ])('is answered with what to do next: %s', async (_, ask, status, remedy) => {
    const answer = await ask();
    const { error } = (await answer.json()) as { error: { remedy: string } };
    expect([answer.status, error.remedy]).toEqual([status, expect.stringMatching(remedy)]);
  });
});

describe('the lines that people paste', () => {
  it('work as they stand in the README', async () => {
    const section = /<!-- curl -->\s+```console\n([\s\S]+?)```/.exec(
      readFileSync(join(root, 'README.md'), 'utf8'),
    )?.[1];
    const lines = section!
      .split('\n')
      .filter((line) => line.startsWith('$ '))
      .map((line) => line.slice(2));
    expect(lines).toHaveLength(2);
    const pasted = lines.map((line) =>
      line.replaceAll('http://127.0.0.1:7878', server.url).replace('npx hotcell', `${process.execPath} dist/cli.js`),
    );
    const [curl, run] = pasted.map((line) => spawnSync('sh', ['-c', line], { cwd: root, encoding: 'utf8' }));
    expect(curl).toMatchObject({ status: 0, stdout: expect.stringContaining('value: 42') });
    expect(run).toMatchObject({ status: 0, stdout: '42\n' });
  });

  it('work as the server prints them', async () => {
    const child = hotcell.start(['dist/cli.js', 'serve', '--port', '0']);
    let said = '';
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    await expect.poll(() => said).toContain('Ctrl-C stops the server');
    expect(said).toMatch(
      /^Hotcell \d\S+ is listening on http:\/\/127\.0\.0\.1:\d+\n\n {2}isolation {2}process \(level 1\)\n/,
    );
    expect(said).toMatch(/claude mcp add --transport http hotcell http:\/\/127\.0\.0\.1:\d+\/mcp\n/);
    expect(said).toContain('A worked example: npx hotcell demo');
    const curl = said.split('\n').find((line) => line.startsWith('  curl'))!;
    const { stdout } = spawnSync('sh', ['-c', curl], { encoding: 'utf8' });
    expect(stdout).toContain('value: 42');
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  it('are those of the profile where it is served alone, and hotcell run is told that there is nothing for it', async () => {
    const child = hotcell.start(['dist/cli.js', 'serve', '--port', '0', '--profile', 'code-sandbox']);
    let said = '';
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    await expect.poll(() => said).toContain('Ctrl-C stops the server');
    expect(said).not.toContain('run - --server');
    const curl = said.split('\n').find((line) => line.startsWith('  curl'))!;
    const { stdout } = spawnSync('sh', ['-c', curl], { encoding: 'utf8' });
    expect(stdout).toContain('"stdout":"42\\n"');
    const url = /is listening on (\S+)/.exec(said)![1]!;
    expect(await hotcell.run(['dist/cli.js', 'run', '-', '--server', url], { stdin: '1' })).toMatchObject({
      exitCode: 69,
      stderr: expect.stringMatching(/does not have Hotcell's own tools.*\n {2}→ Start it with --profile hotcell/),
    });
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([0, null]);
  });
});
