import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BuiltHotcell, buildHotcell, root } from '../e2e/built-hotcell.ts';
import { connectStdio, type McpConnection } from '../e2e/mcp-client.ts';

let hotcell: BuiltHotcell;
let mcp: McpConnection;
let outside: string;
beforeAll(async () => {
  hotcell = await buildHotcell();
  outside = mkdtempSync(join(tmpdir(), 'hc-outside-'));
  if (hotcell.unavailable !== undefined) return;
  mcp = await connectStdio(hotcell, 'modern', { args: ['--load-root', root] });
  await mcp.call('run_code', { code: PLANT });
});
afterAll(async () => {
  await mcp?.[Symbol.asyncDispose]();
  rmSync(outside, { recursive: true, force: true });
  hotcell.remove();
});
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});

/** What hostile code leaves in its workspace for the tools to trip over. */
const PLANT = `import os, socket
os.makedirs("folder", exist_ok=True)
open("folder/real.txt", "w").write("real")
os.symlink("/etc/passwd", "leaf-link")
os.symlink("/etc", "parent-link")
os.symlink("/dev/zero", "endless.png")
os.symlink("folder/real.txt", "inner-link")
os.mkfifo("fifo.txt")
os.mkfifo("fifo.png")
s = socket.socket(socket.AF_UNIX); s.bind("socket.txt")
with open("sparse.txt", "wb") as f: f.truncate(900_000_000)
os.makedirs("/tmp/workspace-evil"); open("/tmp/workspace-evil/x", "w").write("evil")`;

/** Every tool that takes a path of the workspace, with arguments that would do something at a good one. */
const TOOLS: readonly (readonly [tool: string, args: (path: string) => Record<string, unknown>])[] = [
  ['read_file', (path) => ({ path })],
  ['read_file', (path) => ({ path, encoding: 'base64' })],
  ['read_file', (path) => ({ path, start_line: 1, lines: 1 })],
  ['write_file', (path) => ({ path, content: 'x' })],
  ['write_file', (path) => ({ path, content: 'x', mode: 'append' })],
  ['write_file', (path) => ({ path, content: 'x', mode: 'create' })],
  ['edit_file', (path) => ({ path, old_text: 'root', new_text: 'x' })],
  ['load_file', (path) => ({ source: `${root}/examples/sales/sales.csv`, target: path })],
];

const BAD_PATHS = [
  '../etc/passwd',
  'folder/../../etc/passwd',
  '/etc/passwd',
  '/workspace/../etc/passwd',
  '/workspace-evil/x',
  '/workspaceevil',
  '\0',
  'a\0b',
  'leaf-link',
  'parent-link/passwd',
  'inner-link',
  'fifo.txt',
  'fifo.png',
  'socket.txt',
  'endless.png',
  'folder',
  '.',
  '/',
  '/proc/self/environ',
  'x'.repeat(300),
  'd/'.repeat(2100),
];

describe.each(TOOLS.map(([tool, args]) => [`${tool} ${JSON.stringify(args('…'))}`, tool, args] as const))(
  '%s',
  (_, tool, args) => {
    // As a target of load_file it names the workspace as the folder to put something into.
    it.each(BAD_PATHS.filter((path) => tool !== 'load_file' || path !== '.'))(
      'refuses the path %j, at once',
      async (path) => {
        const { isError, data } = await mcp.call(tool, args(path), { timeout: 10_000 });
        expect({ isError, code: data.error?.code }).toEqual({
          isError: true,
          code: expect.stringMatching(/^(bad_path|file_not_found|file_exists|invalid_argument|file_failed)$/),
        });
        expect(JSON.stringify(data)).not.toContain('root:');
      },
    );
  },
);

describe('list_files', () => {
  it.each(['../', '/etc', 'parent-link', 'leaf-link', 'a\0b', '/workspace/../etc', 'fifo.txt'])(
    'refuses %j',
    async (path) => {
      const { isError, text } = await mcp.call('list_files', { path, recursive: true }, { timeout: 10_000 });
      expect(isError).toBe(true);
      expect(text).not.toContain('passwd:');
    },
  );

  it('names links and follows none', async () => {
    const { data } = await mcp.call('list_files', { recursive: true });
    const kinds = Object.fromEntries(
      data.entries.map(({ path, kind }: { path: string; kind: string }) => [path, kind]),
    );
    expect(kinds).toMatchObject({
      'leaf-link': 'link',
      'parent-link': 'link',
      'fifo.txt': 'other',
      'folder/real.txt': 'file',
    });
    expect(Object.keys(kinds).some((path) => path.startsWith('parent-link/'))).toBe(false);
  });
});

describe('names that only look strange', () => {
  it.each([
    '%2e%2e%2fetc',
    'a\\..\\b',
    'ünïcødé/☃.txt',
    'q\'uo"te;$(id)`id`',
    '-rf',
    ' ',
    'a\nb',
    '…/x',
    '..hidden',
    'a.__proto__',
    'constructor',
    '__proto__',
  ])('are names like any other: %j', async (path) => {
    expect((await mcp.call('write_file', { path, content: 'strange' })).isError).toBe(false);
    expect((await mcp.call('read_file', { path })).data.text).toBe('strange');
    const uri = (await mcp.call('read_file', { path })).data.uri;
    const { contents } = await mcp.client.readResource({ uri });
    expect(contents[0]).toMatchObject({ text: 'strange' });
    expect((await mcp.call('run_code', { code: `open(${JSON.stringify(path)}).read()` })).data.value).toBe("'strange'");
  });

  it('hold whole characters: half a one is refused', async () => {
    expect((await mcp.call('write_file', { path: 'half\ud800', content: 'x' })).data.error.code).toBe(
      'invalid_argument',
    );
  });
});

describe('a file larger than any reply', () => {
  it('is read in pieces, and only as far as asked', async () => {
    const began = performance.now();
    const { data } = await mcp.call('read_file', {
      path: 'sparse.txt',
      encoding: 'base64',
      offset: 800_000_000,
      length: 10,
    });
    expect(data).toMatchObject({ text: 'AAAAAAAAAAAAAA==', next_offset: 800_000_010 });
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  it('is refused whole, with what to do instead', async () => {
    const { data } = await mcp.call('list_sessions');
    const uri = `hotcell://sessions/${data.sessions[0].session_id}/files/sparse.txt`;
    await expect(mcp.client.readResource({ uri })).rejects.toThrow('read_file');
    expect((await mcp.call('edit_file', { path: 'sparse.txt', old_text: 'a', new_text: 'b' })).data.error.code).toBe(
      'file_too_large',
    );
  });
});

describe('what code makes while it is being looked at', () => {
  it('swaps a folder for a link, again and again, and nothing leaks', async () => {
    const swapping = `import os, time
os.makedirs("swap/inner", exist_ok=True); open("swap/inner/passwd", "w").write("mine")
end = time.time() + 3
while time.time() < end:
    os.rename("swap/inner", "swap/away"); os.symlink("/etc", "swap/inner")
    os.unlink("swap/inner"); os.rename("swap/away", "swap/inner")`;
    const { data } = await mcp.call('run_code', { code: swapping, background: true });
    const seen = new Set<string>();
    for (let turn = 0; turn < 150; turn += 1) {
      const read = await mcp.call('read_file', { path: 'swap/inner/passwd' });
      seen.add(read.isError ? 'refused' : read.data.text);
    }
    await mcp.call('get_execution', { execution_id: data.execution_id, cancel: true });
    expect([...seen].filter((text) => text !== 'refused' && text !== 'mine')).toEqual([]);
  });

  it('cannot speak for the server through what it prints', async () => {
    const forged = '{"jsonrpc":"2.0","id":1,"result":{}}';
    const { data, isError } = await mcp.call('run_code', {
      code: `import os, sys\nprint(${JSON.stringify(forged)})\nos.write(1, b"\\xff\\xfe\\x00\\x1b[2J")\nsys.stderr.write("\\ud800")`,
    });
    expect(isError).toBe(false);
    expect(data.stdout).toContain(forged);
    expect((await mcp.call('run_code', { code: '"still here"' })).text).toBe("Done.\nvalue: 'still here'");
  });
});
