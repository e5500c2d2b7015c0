import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { onlyWithAll } from '../support/strength.ts';
import { requireAll } from '../support/targets.ts';
import { type BuiltHotcell, buildHotcell, root } from './built-hotcell.ts';
import { connectHttp, connectStdio, type McpConnection } from './mcp-client.ts';

let hotcell: BuiltHotcell;
let data: string;
beforeAll(async () => {
  hotcell = await buildHotcell();
  data = mkdtempSync(join(tmpdir(), 'hc-data-'));
  writeFileSync(join(data, 'plain.txt'), 'plain');
  symlinkSync('/etc/passwd', join(data, 'link.txt'));
  symlinkSync('/etc', join(data, 'etc'));
});
afterAll(() => {
  rmSync(data, { recursive: true, force: true });
  hotcell.remove();
});

describe.each([
  ['stdio', 'legacy'],
  ['stdio', 'modern'],
  ['HTTP', 'legacy'],
  ['HTTP', 'modern'],
] as const)('over %s, a client of the %s era', (way, era) => {
  // The tools are the same whatever carries them: one client tries every case, the others those that a transport or an era could change.
  const detail = requireAll() || (way === 'HTTP' && era === 'modern') ? it : it.skip;
  const left =
    (way === 'HTTP') === (era === 'modern') ? undefined : onlyWithAll('each transport and each era is tried once');
  let mcp: McpConnection;
  beforeAll(async () => {
    if (hotcell.unavailable !== undefined || left !== undefined) return;
    const connect = way === 'stdio' ? connectStdio : connectHttp;
    mcp = await connect(hotcell, era, { args: ['--load-root', root, '--load-root', data] });
  });
  afterAll(async () => {
    await mcp?.[Symbol.asyncDispose]();
  });
  beforeEach((context) => {
    context.skip(left !== undefined, left);
    if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
  });

  it('is told how to work with it, and finds every tool described, with schemas and annotations', async () => {
    const { tools } = await mcp.client.listTools();
    // The holder of a token installs packages only if the token says so.
    const names = tools.map(({ name }) => name).filter((name) => name !== 'install_packages');
    expect(names).toEqual([
      ...[
        'run_code',
        'run_command',
        'get_execution',
        'write_file',
        'read_file',
        'edit_file',
        'list_files',
        'load_file',
      ],
      ...['inspect_variables', 'open_session', 'list_sessions', 'reset_session', 'close_session'],
    ]);
    for (const tool of tools) {
      expect(tool, tool.name).toMatchObject({
        title: expect.any(String),
        inputSchema: { type: 'object', additionalProperties: false },
        outputSchema: { type: 'object' },
        annotations: { readOnlyHint: expect.any(Boolean), openWorldHint: tool.name === 'install_packages' },
      });
    }
    expect(mcp.client.getInstructions()).toContain('run_code');
  });

  describe('run_code', () => {
    it('answers with what was printed and the value, and keeps the state for the next call', async () => {
      const first = await mcp.call('run_code', { code: 'print("hello")\nx = 20\nx + 1' });
      expect(first.text).toBe('Done.\noutput:\nhello\nvalue: 21');
      expect(first.data).toMatchObject({
        ...{ state: 'ended', outcome: 'ok', stdout: 'hello\n', stderr: '', value: '21', variables: 'kept' },
        ...{ changed: { added: ['x'] }, isolation: { driver: 'process', level: 1 }, files: [], images: 0 },
      });
      const second = await mcp.call('run_code', { code: 'x * 2' });
      expect(second.text).toBe('Done.\nvalue: 40');
      expect(second.data.session_id).toBe(first.data.session_id);
    });

    it('tells what the code raised, with a hint, and goes on with the state as it was', async () => {
      await mcp.call('run_code', { code: 'total = 7' });
      const failed = await mcp.call('run_code', { code: 'print("before")\nprint(totl)' });
      expect(failed.isError).toBe(false); // a program that fails is a result
      expect(failed.data).toMatchObject({
        outcome: 'raised',
        error: { name: 'NameError', message: "name 'totl' is not defined" },
      });
      expect(failed.text).toMatch(
        /^The code raised an error\.\noutput:\nbefore\nerror:\nTraceback[\s\S]+NameError: name 'totl' is not defined\nhint from inside the sandbox: .*total/,
      );
      expect((await mcp.call('run_code', { code: 'total' })).text).toBe('Done.\nvalue: 7');
    });

    detail('shows the values where it failed, on request', async () => {
      const code = 'def f(amount):\n    return amount / 0\nf(42)';
      expect((await mcp.call('run_code', { code, traceback_locals: true })).text).toContain('amount = 42');
    });

    detail('runs other languages beside Python, on the same files', async () => {
      await mcp.call('run_code', { code: 'open("shared.txt", "w").write("from python")' });
      await mcp.call('run_code', { language: 'bash', code: 'greeting="read: $(cat shared.txt)"' });
      expect((await mcp.call('run_code', { language: 'bash', code: 'echo "$greeting"' })).text).toBe(
        'Done.\noutput:\nread: from python',
      );
      await mcp.call('run_code', { language: 'javascript', code: 'const rows = [1, 2, 3]' });
      const doubled = await mcp.call('run_code', {
        language: 'typescript',
        code: 'rows.map((row: number) => row * 2)',
      });
      expect(doubled.data).toMatchObject({ outcome: 'ok', value: '[ 2, 4, 6 ]' });
      const held = await mcp.call('inspect_variables', { language: 'javascript' });
      expect(held.data.variables).toMatchObject([{ name: 'rows' }]);
      const unknown = await mcp.call('run_code', { language: 'klingon', code: 'x' });
      expect(unknown).toMatchObject({
        isError: true,
        data: { error: { code: 'unknown_language', remedy: expect.stringContaining('python') } },
      });
    });

    detail('stops at the time limit and says what to do', async () => {
      const { data, text } = await mcp.call('run_code', { code: 'while True: pass', timeout_ms: 300 });
      expect(data).toMatchObject({ outcome: 'timed-out', variables: 'kept' });
      expect(text).toContain('Set a larger timeout_ms.');
    });

    it('leaves the middle of a long output out, and says where it is', async () => {
      const { data, text } = await mcp.call('run_code', { code: 'for i in range(100000): print("line", i)' });
      expect(text.length).toBeLessThan(40_000);
      expect(text).toMatch(/^Done\.\nThe output was cut\. To read all of it: get_execution [^\n]+\noutput:\nline 0\n/);
      const [, before, count, after] =
        /line (\d+)\n… ([\d,]+) lines \([\d,]+ characters\) omitted …\nline (\d+)\n/.exec(text)!;
      expect(Number(count!.replaceAll(',', ''))).toBe(Number(after) - Number(before) - 1);
      expect(text).toContain('line 99999');
      expect(data.omitted.stdout_chars).toBeGreaterThan(1_000_000);
      const { contents } = await mcp.client.readResource({ uri: data.omitted.log_uri });
      const log = (contents[0] as { text: string }).text;
      expect(log.split('\n')).toHaveLength(100_001);
      const piece = await mcp.call('get_execution', { execution_id: data.execution_id, log_offset: 500_000 });
      expect(piece.data.log).toMatchObject({
        offset: 500_000,
        text: log.slice(500_000, 516_384),
        next_offset: 516_384,
      });
    });
  });

  it('run_code answers with a figure as a picture and with files as links that can be read', async () => {
    const code = `import matplotlib.pyplot as plt
plt.plot([1, 4, 9])
with open("räume & more.csv", "w") as f: print("a,b", file=f)`;
    const { content, data } = await mcp.call('run_code', { code });
    const image = content.find(({ type }) => type === 'image') as { data: string; mimeType: string };
    expect(image.mimeType).toBe('image/png');
    expect(Buffer.from(image.data, 'base64').subarray(1, 4).toString()).toBe('PNG');
    const link = content.find(({ type }) => type === 'resource_link') as { uri: string };
    expect(link).toMatchObject({ name: '"räume & more.csv"', mimeType: 'text/csv', size: 4 });
    expect(link).toMatchObject({ annotations: { audience: ['user'] } });
    expect(await (await fetch(link.uri)).text()).toBe('a,b\n');
    const said = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
    expect(said).toContain('"räume & more.csv" (created, 4 bytes)');
    expect(said).not.toContain('http'); // the address is for the person, and comes once
    const [{ uri, ...file }] = data.files;
    expect(file).toMatchObject({ path: 'räume & more.csv', url: link.uri, change: 'created' });
    const { contents } = await mcp.client.readResource({ uri });
    expect(contents).toMatchObject([{ uri, mimeType: 'text/csv', text: 'a,b\n' }]);
    const { resources } = await mcp.client.listResources();
    expect(resources.find((resource) => resource.uri === uri)).toMatchObject({
      name: '"räume & more.csv"',
      title: '"räume & more.csv"',
    });
  });

  detail('tells what was displayed, and no more of it than a reply may hold', async () => {
    const code = `class Rich:
    def _repr_html_(self): return "<b>" + "x" * 5000 + "</b>"
    def __repr__(self): return "a rich thing"
display("plain", Rich())`;
    const { data, text } = await mcp.call('run_code', { code });
    expect(data.shown).toEqual(["'plain'", 'a rich thing']);
    expect(text).toBe("Done.\noutput:\n'plain'\na rich thing");
    const flood = await mcp.call('run_code', { code: 'for i in range(900): display("y" * 9000)' });
    expect(JSON.stringify(flood.content).length + JSON.stringify(flood.data).length).toBeLessThan(60_000);
    expect(flood.data.shown.at(-1)).toMatch(/\d+ more displays omitted/);
  });

  detail('names no more files than a reply may hold', async () => {
    const code = 'for i in range(60): open(f"{i:02d}-" + "n" * 200, "w").write("x")';
    const { data, content } = await mcp.call('run_code', { code });
    expect(data.files.length).toBeLessThanOrEqual(20);
    expect(data.files.length + data.files_omitted).toBe(60);
    expect(JSON.stringify(content).length).toBeLessThan(60_000);
    await mcp.call('run_command', { command: 'rm -f -- ??-nnn*' });
  });

  detail('shows a picture that was only saved', async () => {
    const code =
      'import matplotlib.pyplot as plt\nf = plt.figure(); plt.plot([1]); f.savefig("only.png"); plt.close(f)';
    const { content, data } = await mcp.call('run_code', { code });
    expect(content.map(({ type }) => type)).toEqual(['text', 'image', 'resource_link']);
    expect(data).toMatchObject({ images: 1, files: [{ path: 'only.png' }] });
  });

  describe('run_command', () => {
    it('has a real shell, with pipes, conditions, a folder and variables', async () => {
      const { text, data } = await mcp.call('run_command', {
        command: 'printf "%s\\n" "$WORD" b a | sort | tr a-z A-Z && pwd && [[ -d . ]] && echo bash',
        environment: { WORD: "it's $HOME; `id`" },
        cwd: '/tmp',
      });
      expect(text).toBe("Done.\noutput:\nA\nB\nIT'S $HOME; `ID`\n/tmp\nbash");
      expect(data).toMatchObject({ outcome: 'ok', exit_code: 0 });
    });

    detail('gives the exit code as a result', async () => {
      const { isError, text, data } = await mcp.call('run_command', { command: 'echo half; echo bad >&2; exit 3' });
      expect({ isError, text }).toEqual({ isError: false, text: 'Exit code 3.\noutput:\nhalf\nstderr:\nbad' });
      expect(data).toMatchObject({ outcome: 'exited', exit_code: 3 });
    });

    detail('refuses a folder that is not there, and a NUL', async () => {
      expect((await mcp.call('run_command', { command: 'pwd', cwd: "no'where" })).data).toMatchObject({
        exit_code: 1,
        stderr: "cwd: no'where is not an accessible folder\n",
      });
      expect((await mcp.call('run_command', { command: 'a\0b' })).data.error.code).toBe('invalid_argument');
    });
  });

  describe('a run in the background', () => {
    it('is asked for while it runs, with what it printed, and when it has ended', async () => {
      const code =
        'import os, time\nprint("step", 0, flush=True)\nwhile not os.path.exists("go"): time.sleep(0.02)\nos.remove("go")\n"done"';
      const started = await mcp.call('run_code', { code, background: true });
      expect(started.data.state).not.toBe('ended');
      expect(started.text).toMatch(
        /^Started in the background\.\nPoll: get_execution \{"execution_id": "x-\w+", "wait_ms": 30000\}\. To stop it: /,
      );
      const behind = await mcp.call('run_code', { code: '1', background: true });
      expect(behind.text).toMatch(
        /^In the background: it waits behind execution x-\w+, which has used the same kernel for \d+ s\./,
      );
      const execution_id = started.data.execution_id;
      const inFront = mcp.call('run_code', { code: '2' });
      await expect
        .poll(async () => (await mcp.call('get_execution', { execution_id, wait_ms: 200 })).data)
        .toMatchObject({ state: 'running', stdout: expect.stringContaining('step 0') });
      await mcp.call('get_execution', { execution_id, wait_ms: 1500 });
      await mcp.call('write_file', { path: 'go', content: 'on' });
      const late = await mcp.call('get_execution', { execution_id, wait_ms: 20_000 });
      expect(late.data).toMatchObject({ state: 'ended', outcome: 'ok', value: "'done'" });
      expect((await inFront).text).toMatch(
        /^Done\.\nIt waited \d+ s for execution x-\w+, which used the same kernel\.\nvalue: 2$/,
      );
      const end = await mcp.call('get_execution', { execution_id, log_offset: late.data.stdout.length });
      expect(end).toMatchObject({
        text: 'The log has 7 bytes: there is nothing after this offset.',
        data: { log: { text: '' } },
      });
    });

    detail('can be cancelled, and the variables are kept', async () => {
      await mcp.call('run_code', { code: 'kept = 1' });
      const { data } = await mcp.call('run_code', { code: 'import time\ntime.sleep(60)', background: true });
      const cancelled = await mcp.call('get_execution', { execution_id: data.execution_id, cancel: true });
      expect(cancelled.data).toMatchObject({ state: 'ended', outcome: 'interrupted', variables: 'kept' });
      expect((await mcp.call('run_code', { code: 'kept' })).text).toBe('Done.\nvalue: 1');
    });

    detail('has an id, and any other is unknown', async () => {
      const { data } = await mcp.call('get_execution', { execution_id: 'x-00' });
      expect(data.error.code).toBe('execution_not_found');
    });
  });

  describe('files', () => {
    detail('are written, read by lines and bytes, edited and listed', async () => {
      const lines = Array.from({ length: 50 }, (_, index) => `line ${index + 1} ü`).join('\n');
      const written = await mcp.call('write_file', { path: 'notes/a.txt', content: `${lines}\n` });
      expect(written.data).toMatchObject({ path: 'notes/a.txt', size_bytes: Buffer.byteLength(lines) + 1 });
      const some = await mcp.call('read_file', { path: 'notes/a.txt', start_line: 10, lines: 2 });
      expect(some.data).toMatchObject({ text: 'line 10 ü\nline 11 ü\n', start_line: 10, end_line: 11, next_line: 12 });
      const bytes = await mcp.call('read_file', { path: 'notes/a.txt', offset: 2, length: 6 });
      expect(bytes.data).toMatchObject({ text: 'ne 1 ', offset: 2, next_offset: 7 }); // never half a character
      const edited = await mcp.call('edit_file', { path: 'notes/a.txt', old_text: 'line 7 ü', new_text: 'seven' });
      expect(edited.data.replaced).toBe(1);
      expect((await mcp.call('read_file', { path: 'notes/a.txt', start_line: 7, lines: 1 })).data.text).toBe('seven\n');
      const many = await mcp.call('edit_file', { path: 'notes/a.txt', old_text: 'line', new_text: 'row' });
      expect(many.data.error).toMatchObject({ code: 'invalid_argument', message: expect.stringContaining('49 times') });
      const all = await mcp.call('edit_file', {
        path: 'notes/a.txt',
        old_text: 'line',
        new_text: 'row',
        replace_all: true,
      });
      expect(all.data.replaced).toBe(49);
      const listed = await mcp.call('list_files', { path: 'notes' });
      expect(listed.data.entries).toMatchObject([{ path: 'notes/a.txt', kind: 'file' }]);
      const exists = await mcp.call('write_file', { path: 'notes/a.txt', content: '', mode: 'create' });
      expect(exists.data.error.code).toBe('file_exists');
    });

    it('that are no text go in base64, and come out as a picture or in base64', async () => {
      const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=';
      await mcp.call('write_file', { path: 'dot.png', content: png, encoding: 'base64' });
      const { content } = await mcp.call('read_file', { path: 'dot.png' });
      expect(content.at(-1)).toMatchObject({ type: 'image', mimeType: 'image/png', data: png });
      expect((await mcp.call('read_file', { path: 'dot.png', encoding: 'base64' })).data.text).toBe(png);
      await mcp.call('write_file', { path: 'zero.dat', content: 'AAEC/w==', encoding: 'base64' });
      expect((await mcp.call('read_file', { path: 'zero.dat' })).data.error.remedy).toContain('base64');
    });
  });

  describe('load_file', () => {
    detail('copies a file, a folder or a pattern of this machine without its passing through the model', async () => {
      const one = await mcp.call('load_file', { source: join(root, 'examples/sales/sales.csv') });
      expect(one.data).toMatchObject({ file_count: 1, files: [{ path: 'sales.csv' }] });
      const some = await mcp.call('load_file', { source: join(root, 'examples/*.mjs'), target: 'programs' });
      expect(some.data.files.map(({ path }: { path: string }) => path)).toContain('programs/quick-start.mjs');
      const folder = await mcp.call('load_file', { source: join(root, 'examples/sales'), target: 'all' });
      expect(folder.data.files.map(({ path }: { path: string }) => path)).toContain('all/sales.csv');
      expect((await mcp.call('run_command', { command: 'wc -l < sales.csv' })).text).toBe('Done.\noutput:\n145');
    });

    detail('makes a variable of a file', async () => {
      const { data } = await mcp.call('load_file', {
        source: join(root, 'examples/sales/sales.csv'),
        variable: 'sales',
      });
      expect(data.variable).toMatchObject({ name: 'sales', type: 'pandas.DataFrame' });
      expect((await mcp.call('run_code', { code: 'sales.shape' })).text).toBe('Done.\nvalue: (144, 5)');
    });

    detail.each([
      ['a key', '~/.ssh/id_ed25519'],
      ['a secret of a cloud', '~/.aws/credentials'],
      ['a hidden file', '~/.netrc'],
      ['a file outside the allowed folders', '/etc/hostname'],
      ['one that is reached by ..', `${root}/examples/../../../../etc/passwd`],
      ['Hotcell’s own', '<home>/installation'],
      ['a folder of links', '/proc/self/root/etc/passwd'],
    ])('refuses %s', async (_, source) => {
      const { isError, data } = await mcp.call('load_file', { source: source.replace('<home>', hotcell.home) });
      expect({ isError, code: data.error.code }).toEqual({ isError: true, code: 'host_path_denied' });
    });

    detail('resolves links before it decides, and drags none in with a folder', async () => {
      const link = await mcp.call('load_file', { source: join(data, 'link.txt') });
      expect(link.data.error.code).toBe('host_path_denied');
      const below = await mcp.call('load_file', { source: join(data, 'etc/hostname') });
      expect(below.data.error.code).toBe('host_path_denied');
      const folder = await mcp.call('load_file', { source: data, target: 'linked' });
      expect(folder.data.files).toEqual([{ path: 'linked/plain.txt', size_bytes: 5 }]);
    });
  });

  detail('inspect_variables lists, shows one in pages, and evaluates', async () => {
    await mcp.call('run_code', {
      code: 'import pandas as pd\nframe = pd.DataFrame({"a": range(500), "b": "x"})\nname = "ada"',
    });
    const list = await mcp.call('inspect_variables', { filter: 'frame' });
    expect(list.data.variables).toMatchObject([{ name: 'frame', type: 'pandas.DataFrame', shape: [500, 2] }]);
    const page = await mcp.call('inspect_variables', { expression: 'frame', offset: 100, limit: 2 });
    expect(page.data).toMatchObject({ total: 500, value: { shape: [500, 2] } });
    expect(page.text).toContain('100\t100\tx');
    expect((await mcp.call('inspect_variables', { expression: 'frame.a.sum()' })).text).toContain('124750');
    expect((await mcp.call('inspect_variables', { expression: '1 / 0' })).data.error.code).toBe('evaluation_failed');
  });

  it('opens a second session with a name, which knows nothing of the first, resets and closes it', async () => {
    await mcp.call('run_code', { code: 'mine = 1' });
    const opened = await mcp.call('open_session', {
      name: 'second',
      limits: { memory_mb: 512 },
      environment: { TEAM: 'red' },
      idle_seconds: 60,
    });
    expect(opened.data).toMatchObject({ name: 'second', isolation: { driver: 'process' } });
    const foreign = await mcp.call('run_code', {
      code: 'import os\nprint(os.environ["TEAM"], "mine" in globals())\nopen("f", "w").close()\ny = 1',
      session_id: 'second',
    });
    expect(foreign.data).toMatchObject({ stdout: 'red False\n', session_id: opened.data.session_id });
    expect((await mcp.call('list_sessions')).data.sessions).toHaveLength(2);
    await mcp.call('reset_session', { session_id: 'second' });
    const after = await mcp.call('run_code', {
      code: 'import os\n("y" in globals(), os.listdir())',
      session_id: 'second',
    });
    expect(after.data.value).toBe("(False, ['f'])");
    expect((await mcp.call('close_session', { session_id: 'second' })).data).toEqual({
      session_id: 'second',
      closed: true,
    });
    const gone = await mcp.call('run_code', { code: '1', session_id: opened.data.session_id });
    expect(gone.data.error.code).toMatch(/^session_(closed|not_found)$/);
    expect((await mcp.call('run_code', { code: 'mine' })).text).toBe('Done.\nvalue: 1');
  });

  detail('resets a session whatever runs in it', async () => {
    await mcp.call('open_session', { name: 'stuck' });
    const { data } = await mcp.call('run_code', { code: 'while True: pass', session_id: 'stuck', background: true });
    await mcp.call('get_execution', { execution_id: data.execution_id, wait_ms: 300 });
    expect((await mcp.call('reset_session', { session_id: 'stuck' })).data).toMatchObject({ variables: 'lost' });
    const ended = await mcp.call('get_execution', { execution_id: data.execution_id, wait_ms: 10_000 });
    expect(ended.data).toMatchObject({ state: 'ended', variables: 'lost' });
    expect((await mcp.call('run_code', { code: '"alive"', session_id: 'stuck' })).text).toContain("value: 'alive'");
    await mcp.call('close_session', { session_id: 'stuck' });
  });

  it('gets an error with its code and what to do for arguments that make no sense', async () => {
    const { isError, text, data } = await mcp.call('run_code', { cod: '1', timeout_ms: -1 });
    expect(isError).toBe(true);
    expect(data.error).toMatchObject({
      code: 'invalid_argument',
      retry: 'never',
      remedy: expect.stringContaining('timeout_ms'),
    });
    expect(text).toMatch(/^Error invalid_argument: code: .*timeout_ms: .*"cod"/);
  });

  detail.each([
    ['bad_path', '../x', /such as data/],
    ['file_not_found', 'nothing.txt', /List the files/],
  ])('is told what to do about %s, and not sent to a page that it cannot read', async (code, path, remedy) => {
    const { data } = await mcp.call('read_file', { path });
    expect(data.error).toMatchObject({ code, remedy: expect.stringMatching(remedy) });
  });

  it('is told how a long call goes, and lives on that alone', async () => {
    const messages: string[] = [];
    const code = 'import time\nfor i in range(7):\n    print("tick", i, flush=True)\n    time.sleep(0.5)';
    const { data } = await mcp.call(
      'run_code',
      { code },
      { timeout: 3_000, resetTimeoutOnProgress: true, onprogress: ({ message }) => messages.push(message ?? '') },
    );
    expect(data.outcome).toBe('ok');
    expect(messages.length).toBeGreaterThanOrEqual(3);
    expect(messages.at(-1)).toContain('tick');
  });

  it('interrupts a run by withdrawing the call, and the variables are kept', async () => {
    await mcp.call('run_code', { code: 'precious = 99' });
    const stop = new AbortController();
    const call = mcp.call(
      'run_code',
      { code: 'import time\nprint("begun", flush=True)\ntime.sleep(60)' },
      {
        signal: stop.signal,
        timeout: 60_000,
        onprogress: ({ message }) => message?.includes('begun') && stop.abort('enough'),
      },
    );
    await expect(call).rejects.toThrow(/enough|abort/i);
    const next = await mcp.call('run_code', { code: 'precious' }, { timeout: 10_000 });
    expect(next.text).toBe('Done.\nvalue: 99');
  });

  it('completes ids, and offers prompts', async () => {
    const { data } = await mcp.call('run_code', { code: '1' });
    const { completion } = await mcp.client.complete({
      ref: { type: 'ref/resource', uri: 'hotcell://sessions/{session}/files/{+path}' },
      argument: { name: 'session', value: 's-' },
    });
    expect(completion.values).toContain(data.session_id);
    const { prompts } = await mcp.client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(['analyse_data', 'fix_script', 'make_chart']);
    const { messages } = await mcp.client.getPrompt({ name: 'analyse_data', arguments: { file: 'x.csv' } });
    expect(messages[0]?.content).toMatchObject({ type: 'text', text: expect.stringContaining('x.csv') });
  });

  detail.each([
    'hotcell://sessions/s-00/files/a.txt',
    'hotcell://sessions/<session>/files/not-there.txt',
    'hotcell://sessions/<session>/files/%2e%2e/%2e%2e/etc/passwd',
    'hotcell://sessions/<session>/files/..%2f..%2fetc%2fpasswd',
    'hotcell://sessions/<session>/files/%252e%252e%252fetc%252fpasswd',
    'hotcell://sessions/<session>/files/%00',
    'hotcell://sessions/<session>/files/%ff',
    'hotcell://sessions/<session>/executions/x-00/log',
    'file:///etc/passwd',
  ])('cannot read %s', async (template) => {
    const { data } = await mcp.call('list_sessions');
    const uri = template.replace('<session>', data.sessions[0].session_id);
    await expect(mcp.client.readResource({ uri })).rejects.toThrow();
  });

  it('finds nothing but the protocol on stdout, and nothing of its code in the log', () => {
    expect(mcp.stderr()).not.toContain('precious');
  });
});
