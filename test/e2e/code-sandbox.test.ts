import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FAILURE_CODES } from '../../src/mcp/profiles/code-sandbox/failures.ts';
import { freePort } from '../support/free-port.ts';
import { containersOf } from '../support/host-traces.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { type BuiltHotcell, buildHotcell } from './built-hotcell.ts';
import { base64, connectSandbox, type SandboxClient } from './code-sandbox-client.ts';
import { startServer } from './http-server.ts';
import { connectStdio, ERAS, leaveToModern } from './mcp-client.ts';

let hotcell: BuiltHotcell;
let withoutDocker: string | undefined;
beforeAll(async () => {
  hotcell = await buildHotcell();
  withoutDocker = await reasonToSkip(TARGETS.docker);
});
afterAll(() => {
  if (hotcell.unavailable === undefined) expect(hotcell.leftovers()).toEqual([]);
  if (withoutDocker === undefined) expect(containersOf(hotcell.home)).toEqual([]);
  hotcell.remove();
});

const SALES = `month,revenue\n${Array.from({ length: 24 }, (_, index) => `${(index % 12) + 1},${100 + index * 7}`).join('\n')}\n`;
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47]);

describe('in the isolation that the profile takes by itself, docker', () => {
  let sandbox: SandboxClient;
  beforeAll(async () => {
    if (withoutDocker === undefined) sandbox = await connectSandbox(hotcell, { isolation: '' });
  });
  afterAll(async () => {
    await sandbox?.[Symbol.asyncDispose]();
  });
  beforeEach((context) => {
    if (withoutDocker !== undefined) context.skip(withoutDocker);
  });

  it('its document holds from beginning to end: upload, describe, fail, fix, chart, read back, download, list, close', async () => {
    const { tools } = await sandbox.mcp.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...['sandbox_run_python', 'sandbox_upload_file', 'sandbox_read_artifact'],
      ...['sandbox_list_artifacts', 'sandbox_close_session'],
    ]);
    expect(sandbox.mcp.client.getServerCapabilities()).not.toHaveProperty('prompts'); // they speak of tools that are not here

    const upload = await sandbox.call('upload_file', { filename: 'sales.csv', content_base64: base64(SALES) });
    expect(upload).toEqual({ session_id: expect.stringMatching(/^sess_[0-9a-f]{12}$/), path: '/mnt/data/sales.csv' });
    const { session_id } = upload;
    const run = (code: string) => sandbox.call('run_python', { code, session_id });

    const described = await run("import pandas as pd\ndf = pd.read_csv('/mnt/data/sales.csv')\nprint(df.describe())");
    expect(described).toEqual({
      session_id,
      run_id: expect.stringMatching(/^run_\d{8}T\d{6}Z_[0-9a-f]{4}$/),
      exit_code: 0,
      stdout: expect.stringContaining('revenue'),
      stderr: '',
      stdout_truncated: false,
      stderr_truncated: false,
      artifacts: [],
      duration_ms: expect.any(Number),
    });

    const failed = await run("print('before')\ndf.groupby('Month')['revenue'].sum()");
    expect(failed).toMatchObject({
      exit_code: 1,
      stdout: 'before\n',
      stderr: expect.stringContaining("KeyError: 'Month'"),
    });

    const charted = await run(
      "import matplotlib.pyplot as plt\ndf.groupby('month')['revenue'].sum().plot(kind='bar')\nplt.savefig('/mnt/data/chart.png')",
    );
    expect(charted).toMatchObject({ exit_code: 0, stdout: '', stderr: '' });
    const [chart] = charted.artifacts;
    expect(charted.artifacts).toEqual([
      {
        path: '/mnt/data/chart.png',
        filename: 'chart.png',
        size_bytes: expect.any(Number),
        mime_type: 'image/png',
        download_url: expect.stringMatching(
          new RegExp(`^http://127\\.0\\.0\\.1:\\d+/files/${session_id}/chart\\.png\\?`),
        ),
      },
    ]);

    const read = await sandbox.call('read_artifact', { session_id, path: '/mnt/data/chart.png' });
    const { content_base64, ...about } = read;
    const picture = Buffer.from(content_base64, 'base64');
    const { path, filename, mime_type, size_bytes } = chart;
    expect(about).toEqual({ path, filename, mime_type, size_bytes });
    expect([picture.length, picture.subarray(0, 4)]).toEqual([size_bytes, PNG]);

    const download = await fetch(chart.download_url);
    expect([download.status, download.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(Buffer.from(await download.arrayBuffer()).equals(picture)).toBe(true);

    const { artifacts } = await sandbox.call('list_artifacts', { session_id });
    expect(artifacts.map(({ filename }: { filename: string }) => filename).sort()).toEqual(['chart.png', 'sales.csv']);

    expect(await sandbox.call('close_session', { session_id })).toEqual({ status: 'closed' });
    expect(await sandbox.fail('list_artifacts', { session_id })).toMatchObject({ error: 'session_not_found' });
    expect((await fetch(chart.download_url)).status).toBe(404);
  });

  it('its smoke test: every package that it promised, the limits of its container, no network', async () => {
    const code = `
import os, socket, sys
import matplotlib, numpy, openpyxl, pandas, pyarrow, reportlab, scipy, seaborn
print(os.getcwd(), os.getuid(), __name__)
print(os.statvfs('/tmp').f_blocks * os.statvfs('/tmp').f_frsize)
try:
    open('/etc/x', 'w')
except OSError as error:
    print('root', error.strerror)
try:
    socket.create_connection(('1.1.1.1', 53), 2)
except OSError as error:
    print('network', error.strerror)
pandas.DataFrame({'a': [1, 2]}).to_excel('/mnt/data/t.xlsx')
pandas.DataFrame({'a': [1, 2]}).to_parquet('/mnt/data/t.parquet')
from reportlab.pdfgen.canvas import Canvas
page = Canvas('/mnt/data/t.pdf'); page.drawString(72, 72, 'hello'); page.save()
`;
    const { stdout, stderr, exit_code, artifacts, session_id } = await sandbox.call('run_python', { code });
    expect([exit_code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n')).toEqual([
      '/mnt/data 1000 __main__',
      String(64 * 1_048_576),
      'root Read-only file system',
      'network Network is unreachable',
      '',
    ]);
    expect(artifacts.map(({ filename }: { filename: string }) => filename).sort()).toEqual([
      't.parquet',
      't.pdf',
      't.xlsx',
    ]);
    await sandbox.call('close_session', { session_id });
  });

  it('its exploration of 50,000 rows', async () => {
    const rows = Array.from({ length: 50_000 }, (_, index) => {
      const price = ((index * 7919) % 10_000) / 100;
      return `${index},${'north south east west'.split(' ')[index % 4]},2026-${String((index % 12) + 1).padStart(2, '0')}-01,${price},${index % 13 === 0 ? '' : (index % 9) + 1}`;
    });
    const content_base64 = base64(`id,region,day,price,units\n${rows.join('\n')}\n`);
    const { session_id } = await sandbox.call('upload_file', { filename: 'orders.csv', content_base64 });
    const run = (code: string) => sandbox.call('run_python', { code, session_id });

    const loaded = await run(
      "import pandas as pd\ndf = pd.read_csv('/mnt/data/orders.csv', parse_dates=['day'])\nprint(df.shape, int(df.units.isna().sum()))",
    );
    expect(loaded).toMatchObject({ exit_code: 0, stdout: '(50000, 5) 3847\n' });
    const explored = await run(`
import matplotlib.pyplot as plt, seaborn as sns
from scipy import stats
df = df.dropna().assign(revenue=lambda d: d.price * d.units)
print(df.groupby('region').revenue.agg(['count', 'mean']).round(2).to_string())
print(round(stats.pearsonr(df.price, df.revenue).statistic, 2) > 0.5)
monthly = df.groupby(df.day.dt.month).revenue.sum()
monthly.plot(kind='bar'); plt.savefig('/mnt/data/monthly.png'); plt.close()
sns.histplot(df.price, bins=40); plt.savefig('/mnt/data/prices.png'); plt.close()
df.to_parquet('/mnt/data/clean.parquet'); monthly.to_csv('/mnt/data/monthly.csv')
`);
    expect(explored, explored.stderr).toMatchObject({
      exit_code: 0,
      stdout: expect.stringMatching(/north\s+\d+[\s\S]*True\n$/),
    });
    expect(explored.artifacts.map(({ filename }: { filename: string }) => filename).sort()).toEqual(
      ['clean.parquet', 'monthly.csv', 'monthly.png', 'prices.png'].sort(),
    );
    const { content_base64: table } = await sandbox.call('read_artifact', {
      session_id,
      path: '/mnt/data/monthly.csv',
    });
    expect(Buffer.from(table, 'base64').toString().split('\n')).toHaveLength(14);
    await sandbox.call('close_session', { session_id });
  });
});

describe('its error codes', () => {
  const provoked = new Set<string>();
  beforeEach((context) => {
    if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
  });

  it('come from what its callers may do wrong', async () => {
    await using sandbox = await connectSandbox(hotcell, {
      env: {
        ...{ SANDBOX_MAX_UPLOAD_BYTES: '1000', SANDBOX_MAX_CODE_BYTES: '1000', SANDBOX_MAX_SESSIONS: '1' },
        ...{ SANDBOX_MAX_ARTIFACT_READ_BYTES: '100' },
      },
    });
    const fails = async (code: string, tool: string, args: Record<string, unknown>) => {
      const failure = await sandbox.fail(tool, args);
      expect(failure, JSON.stringify(args).slice(0, 200)).toMatchObject({
        error: code,
        message: expect.stringMatching(/\w/),
      });
      provoked.add(code);
      return failure;
    };
    const { session_id } = await sandbox.call('run_python', {
      code: "open('big.txt', 'w').write('x' * 101)",
      session_id: 'mine-1',
    });
    expect(session_id).toBe('mine-1');

    for (const id of ['', 'a b', '../x', 'x'.repeat(65), 'ä', 7]) {
      await fails('invalid_session_id', 'run_python', { code: '1', session_id: id });
    }
    for (const filename of ['', '.', '..', '../x', '/etc/passwd', 'a/b', 'a\\b', 'a\0b', 'x'.repeat(256), undefined]) {
      await fails('invalid_filename', 'upload_file', { filename, content_base64: '', session_id });
    }
    for (const path of [
      '',
      '/etc/passwd',
      '/mnt/data',
      '/mnt/data/../etc/passwd',
      '../x',
      'a//b',
      '/mnt/database/x',
      1,
    ]) {
      await fails('invalid_path', 'read_artifact', { session_id, path });
    }
    for (const content_base64 of ['***', 'YQ', 'YQ=', 'Y=Q=', null]) {
      await fails('invalid_content', 'upload_file', { filename: 'x', content_base64, session_id });
    }
    const large = { filename: 'x', content_base64: base64('x'.repeat(1001)), session_id };
    expect(await fails('upload_too_large', 'upload_file', large)).toMatchObject({ size_bytes: 1001 });
    expect(await fails('code_too_large', 'run_python', { code: `#${'ä'.repeat(500)}`, session_id })).toMatchObject({
      size_bytes: 1001,
    });
    await fails('file_exists', 'upload_file', { filename: 'big.txt', content_base64: '', session_id });
    expect(await sandbox.call('list_artifacts', { session_id })).toMatchObject({ artifacts: [{ size_bytes: 101 }] });
    await fails('max_sessions', 'run_python', { code: '1' });
    await fails('session_not_found', 'list_artifacts', { session_id: 'default' });
    await fails('session_not_found', 'close_session', { session_id: 'never-was' });
    await fails('not_found', 'read_artifact', { session_id, path: '/mnt/data/none.txt' });
    const tooLarge = await fails('artifact_too_large', 'read_artifact', { session_id, path: '/mnt/data/big.txt' });
    expect(tooLarge).toMatchObject({
      size_bytes: 101,
      download_url: expect.stringContaining('/files/mine-1/big.txt?'),
    });
    expect(await (await fetch(tooLarge.download_url!)).text()).toBe('x'.repeat(101));

    const running = sandbox.fail('run_python', {
      code: "open('began', 'w').close()\nimport time\ntime.sleep(60)",
      session_id,
    });
    await began(sandbox, session_id);
    let hasEnded = false;
    void running.then(() => {
      hasEnded = true;
    });
    await fails('session_busy', 'run_python', { code: '1', session_id });
    expect(hasEnded).toBe(false); // it did not wait for its turn
    await sandbox.call('close_session', { session_id });
    expect(await running).toMatchObject({ error: 'execution_failed' });
    provoked.add('execution_failed');
  });

  it('tell an engine that is not there from an image that is not there', async (context) => {
    await using none = await connectSandbox(hotcell, {
      isolation: '',
      env: { DOCKER_HOST: 'unix:///nowhere/docker.sock' },
    });
    expect(await none.fail('run_python', { code: '1' })).toMatchObject({ error: 'docker_unavailable' });
    provoked.add('docker_unavailable');
    if (withoutDocker !== undefined) context.skip(withoutDocker);
    await using other = await connectSandbox(hotcell, {
      isolation: '',
      env: { SANDBOX_IMAGE: 'no-such-image:latest' },
    });
    expect(await other.fail('run_python', { code: '1' })).toMatchObject({ error: 'docker_error' });
    provoked.add('docker_error');
  });

  it('are all provoked above, every one of the fifteen', (context) => {
    if (withoutDocker !== undefined) context.skip(withoutDocker);
    expect(FAILURE_CODES).toHaveLength(15);
    expect([...provoked].sort()).toEqual([...FAILURE_CODES].sort());
  });
});

describe.each(ERAS)('what callers of the %s era could notice', (era) => {
  beforeEach((context) => {
    leaveToModern(era, context);
    if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
  });

  it('holds: scripts, exit codes, a new session each time, figures that end with their run, and null for no session', async () => {
    await using sandbox = await connectSandbox(hotcell, { era });
    const first = await sandbox.call('run_python', {
      code: "if __name__ == '__main__': print('main')",
      session_id: null,
    });
    expect(first).toMatchObject({ exit_code: 0, stdout: 'main\n' });
    const { session_id } = first;
    const run = (code: string) => sandbox.call('run_python', { code, session_id });
    expect((await sandbox.call('run_python', { code: 'pass' })).session_id).not.toBe(session_id);
    expect(await run('import sys; sys.exit(3)')).toMatchObject({ exit_code: 3, stderr: '' });
    expect(await run('1 + 1')).toMatchObject({ exit_code: 0, stdout: '' });
    await run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('left open')");
    expect(await run('print(plt.get_fignums())')).toMatchObject({ stdout: '[]\n' });
    const upload = { filename: 'ü b.txt', content_base64: base64('one'), session_id };
    await sandbox.call('upload_file', upload);
    await sandbox.call('upload_file', { ...upload, content_base64: base64('two'), overwrite: true });
    expect(await run("print(open('/mnt/data/ü b.txt').read())")).toMatchObject({ stdout: 'two\n' });
  });
});

describe('its settings', () => {
  it('hold the time limit and the limits of output and memory', async ({ skip }) => {
    if (hotcell.unavailable !== undefined) skip(hotcell.unavailable);
    const env = { SANDBOX_EXEC_TIMEOUT_S: '1', SANDBOX_MAX_OUTPUT_BYTES: '2000', SANDBOX_MEMORY_LIMIT: '256m' };
    await using sandbox = await connectSandbox(hotcell, { env });
    const late = await sandbox.call('run_python', { code: "import sys, time\nsys.stderr.write('hm')\ntime.sleep(30)" });
    expect(late.exit_code).toBe(-1);
    expect(late.stderr).toMatch(/^hm[\s\S]*\nExecution timed out after 1s$/);
    const { session_id } = late;
    const loud = await sandbox.call('run_python', {
      code: "import sys\nprint('ä' * 5000)\nsys.stderr.write('few')",
      session_id,
    });
    expect(loud).toMatchObject({ stdout_truncated: true, stderr_truncated: false, stderr: 'few' });
    expect(Buffer.byteLength(loud.stdout)).toBeLessThanOrEqual(2000);
    const greedy = await sandbox.call('run_python', { code: 'x = bytearray(400_000_000)', session_id });
    expect(greedy.exit_code).not.toBe(0);
  });

  it('are honoured under their old names, those of limits, times, address and log too', async ({ skip }) => {
    if (hotcell.unavailable !== undefined) skip(hotcell.unavailable);
    const port = await freePort();
    const logFile = join(hotcell.home, 'sandbox.log');
    const log = { SANDBOX_LOG_FILE: logFile, SANDBOX_LOG_LEVEL: 'debug', SANDBOX_LOG_FORMAT: 'console' };
    const limits = { SANDBOX_MEMORY_LIMIT: '300m', SANDBOX_CPU_LIMIT: '0.5', SANDBOX_SESSION_TTL_M: '7' };
    const env = { ...log, ...limits, SANDBOX_CLEANUP_INTERVAL_M: '1', SANDBOX_HTTP_PORT: String(port) };
    {
      await using sandbox = await connectSandbox(hotcell, { env });
      const code = "open('a', 'w').write('1')";
      const { artifacts } = await sandbox.call('run_python', { code, session_id: 'audited' });
      expect(new URL(artifacts[0].download_url).port).toBe(String(port));
    }
    const audit = readFileSync(join(hotcell.home, 'audit', 'audit.jsonl'), 'utf8')
      .trim()
      .split('\n');
    const opened = audit
      .map((line) => JSON.parse(line))
      .find(({ event, id }) => event === 'session-opened' && id === 'audited');
    expect(opened.policy).toMatchObject({ limits: { memoryBytes: 300 * 1_048_576, cpus: 0.5 }, idleMs: 420_000 });
    const told = readFileSync(logFile, 'utf8');
    expect(told).toMatch(/^\S+Z DEBUG tool call tool=sandbox_run_python owner=local durationMs=\d+ isError=false$/m);
    expect(told).not.toContain('open(');
  });

  it('open no port to others where there is no token: files have no links then', async ({ skip }) => {
    if (hotcell.unavailable !== undefined) skip(hotcell.unavailable);
    await using sandbox = await connectSandbox(hotcell, {
      env: { SANDBOX_HTTP_HOST: '0.0.0.0', SANDBOX_HTTP_PORT: '0' },
    });
    const { artifacts } = await sandbox.call('run_python', { code: "open('a', 'w').write('1')" });
    expect(artifacts).toMatchObject([{ filename: 'a', download_url: null }]);
    await expect.poll(sandbox.mcp.stderr).toContain('files have no links');
  });

  it('that make no sense are refused before anything is served', async () => {
    const env = { SANDBOX_MEMORY_LIMIT: 'much' };
    await expect(connectSandbox(hotcell, { env })).rejects.toThrow();
  });
});

describe('the same over HTTP', () => {
  it.for(ERAS)(
    'to a client of the %s era, with files larger than messages usually are, and links that are signed',
    async (era, context) => {
      leaveToModern(era, context);
      if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
      await using server = await startServer(hotcell, ['--profile', 'code-sandbox']);
      const client = await server.client(era);
      // biome-ignore lint/suspicious/noExplicitAny: the test knows what a tool answers with
      const call = async (name: string, args: Record<string, unknown>): Promise<any> =>
        (await client.callTool({ name: `sandbox_${name}`, arguments: args })).structuredContent;
      const content_base64 = Buffer.alloc(8_000_000, 'a').toString('base64');
      const { session_id } = await call('upload_file', { filename: 'a.txt', content_base64 });
      expect(
        await call('run_python', { code: "print(len(open('/mnt/data/a.txt').read()))", session_id }),
      ).toMatchObject({
        exit_code: 0,
        stdout: '8000000\n',
      });
      const { artifacts } = await call('list_artifacts', { session_id });
      const url = new URL(artifacts[0].download_url);
      expect([url.origin, url.pathname]).toEqual([server.url, `/files/${session_id}/a.txt`]);
      expect((await (await fetch(url)).arrayBuffer()).byteLength).toBe(8_000_000);
      expect((await fetch(url.origin + url.pathname)).status).toBe(401);
      expect(await call('close_session', { session_id })).toEqual({ status: 'closed' });
      await client.close();
    },
  );
});

describe('beside our own tools', () => {
  it('it is there under its names, and they are under theirs', async ({ skip }) => {
    if (hotcell.unavailable !== undefined) skip(hotcell.unavailable);
    await using mcp = await connectStdio(hotcell, 'modern', { env: { HOTCELL_PROFILE: 'hotcell,code-sandbox' } });
    const names = (await mcp.client.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['run_code', 'open_session', 'sandbox_run_python']));
    expect((await mcp.client.listPrompts()).prompts).not.toEqual([]);
    const theirs = await mcp.call('sandbox_run_python', { code: "x = 5\nopen('/mnt/data/a', 'w').write('1')" });
    const { session_id } = theirs.data;
    expect((await mcp.call('run_command', { command: 'pwd && ls', session_id })).data).toMatchObject({
      stdout: '/mnt/data\na\n',
    });
    expect((await mcp.call('run_code', { code: 'import os; os.getcwd()' })).data).toMatchObject({
      value: "'/workspace'",
    });
  });

  it('a profile that nobody knows is refused before anything is served', async () => {
    const { exitCode, stderr } = await hotcell.run(['dist/cli.js', 'mcp', '--profile', 'other']);
    expect(exitCode).toBe(64);
    expect(stderr).toContain('profile');
  });
});

/** Until a run that is told to has made its file. */
async function began(sandbox: SandboxClient, session_id: string): Promise<void> {
  const { artifacts } = await sandbox.call('list_artifacts', { session_id });
  if (!artifacts.some(({ filename }: { filename: string }) => filename === 'began')) await began(sandbox, session_id);
}
