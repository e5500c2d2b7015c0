import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LABELS } from '../../src/drivers/docker/container-config.ts';
import { installationId } from '../../src/lib/installation.ts';
import { type Hotcell, type OpenOptions, openHotcell, type Session } from '../../src/main.ts';
import { added, anonymousVolumes } from '../support/host-traces.ts';
import { reasonToLeaveTo, strength } from '../support/strength.ts';
import { TARGETS } from '../support/targets.ts';

const MiB = 1_048_576;
const docker = (...args: string[]) => execFileSync('docker', args, { encoding: 'utf8' }).trim();

/** A few things together, as users do them. What each driver must do is in the conformance suite. */
const left = { docker: undefined, gvisor: await reasonToLeaveTo(TARGETS.docker, TARGETS.gvisor) };

describe.each(['docker', 'gvisor'] as const)('a sandbox of the %s driver', (isolation) => {
  const folder = mkdtempSync(join(tmpdir(), 'hotcell-containers-'));
  const shared = mkdtempSync(join(tmpdir(), 'hotcell-shared-'));
  const ours = () =>
    docker('ps', '--all', '--quiet', '--filter', `label=${LABELS.installation}=${installationId(folder)}`);
  let hotcell: Hotcell;

  beforeAll(async () => {
    hotcell = await openHotcell({ isolation, dataDir: folder, poolSize: 0, preloads: [], mountRoots: [shared] });
  });

  afterAll(async () => {
    await hotcell.close();
    expect(ours()).toBe('');
    for (const made of [folder, shared]) rmSync(made, { recursive: true, force: true });
  });

  beforeEach((context) => {
    if (left[isolation] !== undefined) context.skip(left[isolation]);
  });

  async function inSession<T>(work: (session: Session) => Promise<T>, options: OpenOptions = {}): Promise<T> {
    await using session = await hotcell.open(options);
    return await work(session);
  }

  it('computes, keeps variables, and says where it ran', () =>
    inSession(async (session) => {
      await session.run('import pandas as pd; frame = pd.DataFrame({"a": [1, 2, 3]})');
      const result = await session.run('int(frame.a.sum())');
      expect(result).toMatchObject({ outcome: { kind: 'ok' }, value: { text: '6' } });
      expect(result.isolation).toMatchObject({ driver: isolation, shape: 'sealed' });
    }));

  it('shows a traceback that begins with the code it was given', () =>
    inSession(async (session) => {
      const { outcome } = await session.run('def f():\n    return 1 / 0\nf()');
      expect(outcome).toMatchObject({ kind: 'raised', name: 'ZeroDivisionError' });
      expect(JSON.stringify(outcome)).not.toContain('hotcell_guest');
    }));

  it('displays a figure that was only plotted', () =>
    inSession(async (session) => {
      const { displays } = await session.run('import matplotlib.pyplot as plt; plt.plot([1, 2])');
      expect(displays[0]?.representations.at(-1)).toMatchObject({ mediaType: 'image/png' });
    }));

  it('ends an endless loop at its time limit and keeps the variables', () =>
    inSession(async (session) => {
      await session.run('x = 41');
      const ended = await session.run('while True: pass', { timeoutMs: 500 });
      expect(ended).toMatchObject({ outcome: { kind: 'timed-out' }, state: 'kept' });
      expect((await session.run('x + 1')).value?.text).toBe('42');
    }));

  it('reads, writes and lists files of the workspace, and names what code made there', () =>
    inSession(async (session) => {
      await session.files.write('in.txt', 'hello');
      const { artifacts } = await session.run('open("out.txt", "w").write(open("in.txt").read().upper())');
      expect(artifacts).toMatchObject([{ path: 'out.txt', change: 'created' }]);
      expect((await session.files.read('out.txt')).toString()).toBe('HELLO');
    }));

  it('is told of a full disk by the operating system, and lives on', () =>
    inSession(
      async (session) => {
        const { outcome } = await session.run('open("big", "wb").write(bytes(30 * 2**20))');
        expect(outcome).toMatchObject({ kind: 'raised', name: 'OSError', message: expect.stringContaining('28') });
        expect((await session.run('1 + 1')).value?.text).toBe('2');
      },
      { limits: { diskBytes: 16 * MiB } },
    ));

  it.each([
    ['one large object', 'x = bytearray(2**30)'],
    ['an array that is touched', 'import numpy as np; x = np.ones(2**27)'],
    ['many small objects', 'x = []\nwhile True: x.append(bytearray(2**20))'],
    ['a file that is mapped', 'import mmap; m = mmap.mmap(-1, 2**30); m.write(b"x" * 2**30)'],
  ])('survives running out of memory through %s, with its files', (_what, code) =>
    inSession(
      async (session) => {
        await session.files.write('kept.txt', 'here');
        const { outcome, state } = await session.run(code, { timeoutMs: 30_000 });
        expect(outcome).toMatchObject({ kind: 'out-of-memory' });
        expect(['kept', 'lost']).toContain(state);
        expect((await session.run('open("kept.txt").read()')).value?.text).toBe("'here'");
      },
      { limits: { memoryBytes: 512 * MiB } },
    ),
  );

  it('holds a fork bomb below its limit of processes', () =>
    inSession(
      async (session) => {
        const bomb = [
          'import os, time',
          'children = 0',
          'try:',
          '    while True:',
          '        if os.fork() == 0: time.sleep(60); os._exit(0)',
          '        children += 1',
          'except OSError as error:',
          '    print(children, error.errno)',
        ].join('\n');
        const { stdout } = await session.run(bomb);
        const [children, errno] = stdout.trim().split(' ').map(Number);
        expect(errno).toBe(11);
        expect(children).toBeLessThan(32);
        await session.reset();
        expect((await session.run('1 + 1')).value?.text).toBe('2');
      },
      { limits: { processes: 32 } },
    ));

  it('sees folders of the host as they were mounted', async () => {
    writeFileSync(join(shared, 'given.txt'), 'given');
    chmodSync(shared, 0o777);
    const mounts = [
      { source: shared, target: '/data' },
      { source: shared, target: '/workspace/out', readOnly: false },
    ];
    await inSession(
      async (session) => {
        expect((await session.run('open("/data/given.txt").read()')).value?.text).toBe("'given'");
        const denied = await session.run('open("/data/new.txt", "w")');
        expect(denied.outcome).toMatchObject({ kind: 'raised', message: expect.stringContaining('Read-only') });
        expect((await session.run('open("out/made.txt", "w").write("x")')).outcome.kind).toBe('ok');
      },
      { mounts },
    );
    expect(readFileSync(join(shared, 'made.txt'), 'utf8')).toBe('x');
  });

  it('passes much over its loopback, in both directions', () =>
    inSession(async (session) => {
      const { stdout } = await session.run(`import socket, threading, time
listener = socket.create_server(("127.0.0.1", 0))
def echo():
    connection, _ = listener.accept()
    while data := connection.recv(1 << 20): connection.sendall(data)
    connection.close()
threading.Thread(target=echo).start()
client = socket.create_connection(listener.getsockname())
def send():
    for _ in range(64): client.sendall(bytes(1 << 20))
    client.shutdown(socket.SHUT_WR)
begun = time.monotonic()
threading.Thread(target=send).start()
received = 0
while data := client.recv(1 << 20): received += len(data)
print(received >> 20, time.monotonic() - begun < 20)`);
      expect(stdout.trim()).toBe('64 True');
    }));

  it('that is killed from outside ends its execution at once, and the next one has a new sandbox', () =>
    inSession(async (session) => {
      const running = session.run('print("begun")\nimport time; time.sleep(60)');
      await running[Symbol.asyncIterator]().next();
      const killedAt = performance.now();
      docker('kill', ours());
      const result = await running;
      expect(performance.now() - killedAt).toBeLessThan(5_000);
      expect(result).toMatchObject({ outcome: { kind: 'sandbox-lost' }, state: 'lost' });
      expect((await session.run('1 + 1')).value?.text).toBe('2');
    }));

  it('leaves nothing behind, however often one is opened', async () => {
    const volumes = anonymousVolumes();
    for (let count = 0; count < strength({ plain: 3, all: 10 }); count += 1)
      await inSession(async (session) => session.run('1'));
    await expect.poll(ours).toBe('');
    await expect.poll(() => added(volumes, anonymousVolumes())).toEqual([]);
  });
});
