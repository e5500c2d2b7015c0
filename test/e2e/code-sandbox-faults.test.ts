import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CODE_SANDBOX_FAULTS, type CodeSandboxFault } from '../compat/code-sandbox-faults.ts';
import { containersOf } from '../support/host-traces.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { type BuiltHotcell, buildHotcell } from './built-hotcell.ts';
import { base64, connectSandbox, type SandboxClient } from './code-sandbox-client.ts';

let hotcell: BuiltHotcell;
let withoutDocker: string | undefined;
beforeAll(async () => {
  hotcell = await buildHotcell();
  withoutDocker = await reasonToSkip(TARGETS.docker);
});
afterAll(() => hotcell.remove());
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});

const MiB = 1_048_576;

/** One for each fault: that it is not ours. */
const PROOFS: Partial<Record<CodeSandboxFault, (skip: (reason: string) => void) => Promise<void>>> = {
  'code that ignores SIGTERM hung the session for ever': async () => {
    // As its users have it too, with all preloads: there the next kernel is forked by another process than in a jail.
    await Promise.all((withoutDocker === undefined ? ['process', ''] : ['process']).map(stubbornCodeEnds));
  },

  "orphan cleanup killed other live instances' containers": async (skip) => {
    if (withoutDocker !== undefined) return skip(withoutDocker);
    await using first = await connectSandbox(hotcell, { isolation: 'docker' });
    const { session_id } = await first.call('run_python', { code: "x = 'still here'" });
    await using dead = await connectSandbox(hotcell, { isolation: 'docker' });
    await dead.call('run_python', { code: 'pass' });
    process.kill(dead.mcp.pid, 'SIGKILL');
    expect(containersOf(hotcell.home)).toHaveLength(2);
    {
      // Of the same installation: its first session clears what dead servers left behind, and nothing else.
      await using second = await connectSandbox(hotcell, { isolation: 'docker' });
      await second.call('run_python', { code: 'pass' });
      await expect.poll(() => containersOf(hotcell.home)).toHaveLength(2);
    }
    await expect.poll(() => containersOf(hotcell.home)).toHaveLength(1);
    const again = await first.call('run_python', { code: 'print(x)', session_id });
    expect(again).toMatchObject({ exit_code: 0, stdout: 'still here\n' });
  },

  'output and artifacts buffered whole before the caps applied': async () => {
    await using sandbox = await connectSandbox(hotcell);
    const { session_id } = await sandbox.call('run_python', { code: "open('warm', 'w').write('x')" });
    const { artifacts } = await sandbox.call('list_artifacts', { session_id });
    await (await fetch(artifacts[0].download_url)).arrayBuffer();
    const before = peakBytes(sandbox);
    const loud = await sandbox.call('run_python', {
      code: "for _ in range(100): print('x' * 1_000_000)\nopen('big.bin', 'wb').write(bytes(100_000_000))",
      session_id,
    });
    expect(loud).toMatchObject({ exit_code: 0, stdout_truncated: true, artifacts: [{ size_bytes: 100_000_000 }] });
    expect(Buffer.byteLength(loud.stdout)).toBeLessThanOrEqual(102_400);
    const refused = await sandbox.fail('read_artifact', { session_id, path: '/mnt/data/big.bin' });
    expect(refused).toMatchObject({ error: 'artifact_too_large', size_bytes: 100_000_000 });
    let received = 0;
    for await (const piece of (await fetch(refused.download_url!)).body!) received += piece.length;
    expect(received).toBe(100_000_000);
    expect(peakBytes(sandbox) - before).toBeLessThan(80 * MiB); // either of them whole is more
  },

  'no pids or disk limit': async () => {
    await using sandbox = await connectSandbox(hotcell);
    const { stdout, session_id } = await sandbox.call('run_python', {
      code: `
import subprocess
children = []
try:
    for _ in range(1000):
        children.append(subprocess.Popen(['sleep', '60']))
except OSError as error:
    print('processes', error.strerror)
for child in children:
    child.kill()
try:
    with open('/mnt/data/full', 'wb') as file:
        for _ in range(1000):
            file.write(bytes(1_000_000))
except OSError as error:
    print('disk', error.strerror)
`,
    });
    expect(stdout).toBe('processes Resource temporarily unavailable\ndisk No space left on device\n');
    expect(await sandbox.call('run_python', { code: 'print(1)', session_id })).toMatchObject({ stdout: '1\n' });
  },

  'uploads not writable by the sandbox user': async (skip) => {
    if (withoutDocker !== undefined) return skip(withoutDocker);
    await using sandbox = await connectSandbox(hotcell, { isolation: '' });
    const { session_id } = await sandbox.call('upload_file', { filename: 'a.csv', content_base64: base64('one\n') });
    const code = `
import os
with open('/mnt/data/a.csv', 'a') as file:
    file.write('two\\n')
print(open('/mnt/data/a.csv').read(), os.stat('/mnt/data/a.csv').st_uid, os.getuid())
os.remove('/mnt/data/a.csv')
`;
    expect(await sandbox.call('run_python', { code, session_id })).toMatchObject({
      exit_code: 0,
      stdout: 'one\ntwo\n 1000 1000\n',
    });
  },

  'artifacts reported only on success and only at top level': async () => {
    await using sandbox = await connectSandbox(hotcell, { env: { SANDBOX_EXEC_TIMEOUT_S: '1' } });
    const made =
      "import os\nos.makedirs('/mnt/data/out/deep', exist_ok=True)\nopen('/mnt/data/out/deep/NAME', 'w').write('x')\n";
    const paths = async (name: string, end: string, session_id?: string) => {
      const reply = await sandbox.call('run_python', { code: made.replace('NAME', name) + end, session_id });
      return { ...reply, paths: reply.artifacts.map(({ path }: { path: string }) => path) };
    };
    const failed = await paths('a.txt', '1 / 0');
    expect(failed).toMatchObject({ exit_code: 1, paths: ['/mnt/data/out/deep/a.txt'] });
    const { session_id } = failed;
    const late = await paths('b.txt', 'while True: pass', session_id);
    expect(late).toMatchObject({ exit_code: -1, paths: ['/mnt/data/out/deep/b.txt'] });
    const died = await paths('c.txt', 'os.kill(os.getpid(), 9)', session_id);
    expect(died).toMatchObject({ exit_code: 137, paths: ['/mnt/data/out/deep/c.txt'] });
    const { artifacts } = await sandbox.call('list_artifacts', { session_id });
    expect(artifacts.map(({ path }: { path: string }) => path)).toContain('/mnt/data/out/deep/a.txt');
    const read = await sandbox.call('read_artifact', { session_id, path: '/mnt/data/out/deep/b.txt' });
    expect(read).toMatchObject({ filename: 'b.txt', content_base64: base64('x') });
    expect(await (await fetch(artifacts[0].download_url)).text()).toBe('x');
  },

  'no authentication on downloads': async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    try {
      // A port that another program has: the links follow to another one.
      await using sandbox = await connectSandbox(hotcell, { env: { SANDBOX_HTTP_PORT: String(port) } });
      const { artifacts } = await sandbox.call('run_python', {
        code: "open('secret.txt', 'w').write('s')",
        session_id: 'guess-me',
      });
      const url = new URL(artifacts[0].download_url);
      expect([url.pathname, url.port === String(port)]).toEqual(['/files/guess-me/secret.txt', false]);
      expect(await (await fetch(url)).text()).toBe('s');
      expect((await fetch(url.origin + url.pathname)).status).toBe(401);
      const other = new URL(url);
      other.pathname = '/files/guess-me/other.txt';
      expect((await fetch(other)).status).toBe(403);
    } finally {
      taken.close();
    }
  },
};

describe('what mcp-code-sandbox got wrong', () => {
  it.for(CODE_SANDBOX_FAULTS)('"%s"', async (fault, { skip }) => {
    const prove = PROOFS[fault];
    expect(prove).toBeDefined();
    await prove?.(skip);
  });

  it('has a proof for every line', () => {
    expect(Object.keys(PROOFS).sort()).toEqual([...CODE_SANDBOX_FAULTS].sort());
  });
});

async function stubbornCodeEnds(isolation: string): Promise<void> {
  await using sandbox = await connectSandbox(hotcell, { isolation, env: { SANDBOX_EXEC_TIMEOUT_S: '1' } });
  const stubborn =
    'import signal\nfor name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):\n    signal.signal(name, signal.SIG_IGN)\nwhile True:\n    pass';
  let session_id: string | undefined;
  for (let turn = 0; turn < (isolation === '' ? 3 : 1); turn += 1) {
    const askedAt = performance.now();
    const late = await sandbox.call('run_python', { code: stubborn, session_id });
    expect(performance.now() - askedAt).toBeLessThan(30_000);
    expect(late).toMatchObject({ exit_code: -1, stderr: expect.stringMatching(/Execution timed out after 1s$/) });
    session_id = late.session_id;
    const next = await sandbox.call('run_python', { code: "print('alive')", session_id });
    expect(next).toMatchObject({ exit_code: 0, stdout: 'alive\n' });
  }
}

/** The most memory that the server has had. */
function peakBytes({ mcp }: SandboxClient): number {
  const [, kibibytes] = readFileSync(`/proc/${mcp.pid}/status`, 'utf8').match(/^VmHWM:\s+(\d+) kB$/m)!;
  return Number(kibibytes) * 1024;
}
