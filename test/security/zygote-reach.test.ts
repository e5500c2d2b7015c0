import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GUEST_FOLDER } from '../../src/drivers/process/bwrap-arguments.ts';
import type { Hotcell, OpenOptions } from '../../src/main.ts';
import { hostProcesses, type SandboxProcesses, sandboxesBelow } from '../support/host-processes.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

const reason =
  process.getuid?.() === 0 ? await reasonToSkip(TARGETS.shared) : 'only root gives sessions uids of their own';

describe.skipIf(reason !== undefined)(`a zygote${reason === undefined ? '' : ` (${reason})`}`, () => {
  const shared = mkdtempSync(join(tmpdir(), 'hc-writable-'));
  let hotcell: Hotcell;

  beforeAll(async () => {
    execFileSync('chmod', ['777', shared]);
    hotcell = await openTarget(TARGETS.shared, { mountRoots: [shared] });
  });
  afterAll(async () => {
    await hotcell?.close();
    rmSync(shared, { recursive: true, force: true });
  });

  it('cannot open the files of a session that has begun', async () => {
    await using session = await opened();
    expect(asZygote(session.processes, READ_SECRET)).toBe('PermissionError');
    // Where all sessions have one uid, as with a writable mount, the zygote's own, nothing stands in its way.
    await using common = await opened({ mounts: [{ source: shared, target: '/data', readOnly: false }] });
    expect(asZygote(common.processes, READ_SECRET)).toBe('secret');
  });

  it('runs under a filter that leaves it what making sandboxes takes, and in a cgroup with limits', async () => {
    await using session = await opened();
    const zygote = zygoteOf(session.processes);
    expect(readFileSync(`/proc/${zygote}/status`, 'utf8')).toMatch(/^Seccomp:\s+2$/m);
    const group = readFileSync(`/proc/${zygote}/cgroup`, 'utf8').match(/^(?:\d+:pids:|0::)(.+)$/m)?.[1] ?? '';
    const limit = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'].flatMap((root) => {
      try {
        return [readFileSync(join(root, group, 'pids.max'), 'utf8').trim()];
      } catch {
        return [];
      }
    });
    expect(Number(limit[0])).toBeGreaterThan(0);
  });

  it('cannot put another socket in the place of the one that sessions come to', async () => {
    await using common = await opened({ mounts: [{ source: shared, target: '/data', readOnly: false }] });
    const replaced = `
import os, socket
try:
    os.rename("/run/hotcell/control", "/run/hotcell/other")
    print("replaced")
except OSError as error:
    print(type(error).__name__)
socket.socket(socket.AF_UNIX).connect("/run/hotcell/control")`;
    expect(asZygote(common.processes, replaced)).toBe('PermissionError');
  });

  it('gives each session a uid of its own on the host, and the same one inside', async () => {
    await using one = await opened();
    await using other = await opened();
    const outside = [one, other].map(({ processes }) => uidOf(processes.supervisor));
    expect(new Set([...outside, uidOf(zygoteOf(one.processes))]).size).toBe(3);
    expect(outside.every((uid) => uid >= 0x78000000)).toBe(true);
    for (const { run } of [one, other])
      expect(await run('import os, pwd; (os.getresuid(), pwd.getpwuid(os.getuid()).pw_name)')).toBe(
        "((1000, 1000, 1000), 'sandbox')",
      );
  });

  async function opened(options: OpenOptions = {}) {
    const closedIn = () => sandboxesBelow(process.pid, 'shared').filter((sandbox) => sandbox.closedIn);
    const before = new Set(closedIn().map(({ supervisor }) => supervisor));
    const session = await hotcell.open(options);
    const run = async (code: string) => (await session.run(code)).value?.text;
    await run('open("/workspace/secret.txt", "w").write("secret")');
    const processes = closedIn().find(({ supervisor, kernel }) => kernel !== undefined && !before.has(supervisor));
    if (processes === undefined) throw new Error('the processes of the session were not found');
    return { processes, run, [Symbol.asyncDispose]: () => session.close() };
  }
});

/** Opens a file of the session through the /proc of the jail. */
const READ_SECRET = `
try:
    print(open(f"/proc/{kernel}/root/workspace/secret.txt").read())
except OSError as error:
    print(type(error).__name__)`;

/** Runs Python in the namespaces of the zygote, as its user and with no capability. */
function asZygote({ kernel, ...processes }: SandboxProcesses, code: string): string {
  const inJail = hostProcesses().find(({ pid }) => pid === kernel)?.namespacePids[1];
  const prelude = [
    'import sys',
    `sys.path.insert(0, '${GUEST_FOLDER}')`,
    'from hotcell_guest.system import linux',
    'linux.drop_all_capabilities()',
    `kernel = ${inJail}`,
  ].join('\n');
  const zygote = String(zygoteOf(processes));
  return execFileSync(
    'nsenter',
    [
      ...['--target', zygote, '--user', '--mount', '--pid', '--setuid', '1000', '--setgid', '1000'],
      ...['/usr/bin/python3', '-I', '-c', `${prelude}\n${code}`],
    ],
    { encoding: 'utf8' },
  ).trim();
}

function zygoteOf({ jail }: Pick<SandboxProcesses, 'jail'>): number {
  const zygote = hostProcesses().find(({ parent }) => parent === jail)?.pid;
  if (zygote === undefined) throw new Error('the zygote was not found');
  return zygote;
}

function uidOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/^Uid:\s+(\d+)/m)?.[1]);
}
