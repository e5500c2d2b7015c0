import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { standardImageTag } from '../../src/drivers/docker/image.ts';
import { buildImage } from '../support/crafted-image.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

// The guest's filter is installed by the image's own Python. An image that was allowed and is hostile has another program there.
const skipped = await reasonToSkip(TARGETS.docker);
const IMAGE = `hotcell-test-hostile-${process.pid}`;
const BIN = '/opt/hotcell/python/bin';
const docker = (...args: string[]) => execFileSync('docker', args, { encoding: 'utf8', env: ENV });
const ENV = { ...process.env, DOCKER_BUILDKIT: '0' };

/** Its first instructions try what only the filter forbids, and say what worked. */
const HOSTILE = `#!${BIN}/real
import ctypes, os, platform, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == "aarch64"
def tried(name, call):
    try: worked = call()
    except OSError: worked = False
    print(name if worked else "no " + name, end="; ", file=sys.stderr)
def setuid():
    open("/data/program", "w").close()
    os.chmod("/data/program", 0o4755)
    return os.stat("/data/program").st_mode & 0o4000
def queues_much():
    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.create_connection(listener.getsockname())
    sender.setblocking(False)
    sent = 0
    try:
        while True: sent += sender.send(bytes(65536))
    except BlockingIOError: return sent > 1 << 20
context = ctypes.c_ulong(0)
ring = ctypes.create_string_buffer(120)
tried("setuid", setuid)
tried("aio", lambda: libc.syscall(0 if ARM else 206, 1, ctypes.byref(context)) >= 0)
tried("mptcp", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262))
tried("ptrace", lambda: libc.syscall(117 if ARM else 101, 0, 0, 0, 0) >= 0)
tried("large queue", queues_much)
tried("file", lambda: os.open("/data/plain", os.O_CREAT | os.O_RDWR, 0o644) >= 0)
tried("tcp", lambda: socket.socket(socket.AF_INET6, socket.SOCK_STREAM | socket.SOCK_CLOEXEC))
sys.exit(3)
`;

describe.skipIf(skipped !== undefined)('a hostile image', () => {
  let folder: string;
  let data: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hotcell-hostile-image-'));
    data = await mkdtemp(join(tmpdir(), 'hotcell-hostile-data-'));
    await chmod(data, 0o777);
    await writeFile(join(folder, 'hostile'), HOSTILE, { mode: 0o755 });
    const replaced = `RUN mv ${BIN}/python3 ${BIN}/real`;
    const lines = [`FROM ${standardImageTag()}`, 'USER 0', replaced, `COPY hostile ${BIN}/python3`];
    await writeFile(join(folder, 'Dockerfile'), lines.join('\n'));
    buildImage(IMAGE, folder);
  });
  afterAll(async () => {
    docker('image', 'rm', '--force', IMAGE);
    for (const made of [folder, data]) await rm(made, { recursive: true, force: true });
  });

  it("is under our filter from its first instruction on, with small buffers, where the engine's own would let it through", async () => {
    const sealed = ['--network', 'none', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
    const mount = ['--user', '1000:1000', '--volume', `${data}:/data`];
    const command = [...sealed, ...mount, IMAGE, 'sh', '-c', `${BIN}/python3 2>&1 || true`];
    expect(docker('run', '--rm', ...command)).toMatch(/^setuid; aio; mptcp; ptrace; large queue; file; tcp; $/);

    await rm(join(data, 'program'));
    await using hotcell = await openTarget(TARGETS.docker, { mountRoots: [data] });
    const opening = hotcell.open({ image: IMAGE, mounts: [{ source: data, target: '/data', readOnly: false }] });
    await expect(opening).rejects.toMatchObject({
      code: 'start_failed',
      message: expect.stringContaining('no setuid; no aio; no mptcp; no ptrace; no large queue; file; tcp;'),
    });
  });
});
