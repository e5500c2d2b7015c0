import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createCollector, DEFAULT_OUTPUT_LIMITS } from '../../src/execution/collect.ts';
import { runInGuest } from '../../src/execution/run.ts';
import { connectGuest } from '../../src/guest/connect.ts';
import type { GuestConnection } from '../../src/guest/connection.ts';
import { readWhole } from '../../src/guest/files.ts';
import { nothing } from '../../src/guest/messages.ts';
import { PYTHON } from '../../src/languages/table.ts';
import type { AloneLimits } from '../../src/sandbox/guest-config.ts';
import { type ListeningGuest, startListeningGuest } from '../support/listening-guest.ts';

const MiB = 1_048_576;
let guest: ListeningGuest;
/** An expression that says that it is being evaluated. */
const ASKED_WITHOUT_END = '[open("asked", "w").close(), [x for x in iter(int, 1)]]';
let runs = 0;

afterEach(async () => {
  await guest?.[Symbol.asyncDispose]();
});

test('what was under way for the host before is ended, and nothing of it reaches the next', async () => {
  const first = await firstHost();
  await value(first, 'n = 5');
  run(first, 'open("began", "w").close()\nwhile True: print("x" * 1000)');
  await guest.fileAppears('began');
  first.close();
  const background: string[] = [];
  const second = await nextHost((text) => background.push(text));
  expect(await value(second, 'n')).toBe('5');
  expect(background.join('')).toBe('');
});

test('a host that still looks alive is replaced', async () => {
  const first = await firstHost();
  await value(first, 'n = 6');
  run(first, 'import time\nopen("began", "w").close()\ntime.sleep(60)');
  await guest.fileAppears('began');
  const second = await nextHost();
  expect(await first.ended).toMatchObject({ code: 'sandbox_lost' });
  expect(await value(second, 'n')).toBe('6');
});

test('code that does not let itself be interrupted costs its variables, and the next host has a kernel', async () => {
  const first = await firstHost();
  await value(first, 'n = 7');
  run(
    first,
    'import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nopen("began", "w").close()\nwhile True: pass',
  );
  await guest.fileAppears('began');
  first.close();
  const second = await nextHost();
  expect(await value(second, '"n" in dir()')).toBe('False');
});

test('a file on its way, an upload and a question of the host before are dropped', async () => {
  const first = await firstHost();
  await value(
    first,
    `open("large.bin", "wb").write(b"a" * ${8 * MiB})\nclass Slow:\n  def __repr__(self):\n    while True: pass\ns = Slow()`,
  );
  const upload = first.openStream(() => {});
  first.request({ type: 'file.write', stream: upload.id, path: 'half.bin', mode: 'replace' }, nothing).catch(() => {});
  await upload.send({ type: 'chunk', end: false }, Buffer.alloc(1000));
  const paused = first.openStream(() => new Promise(() => {}));
  first.request({ type: 'file.read', stream: paused.id, path: 'large.bin' }, nothing).catch(() => {});
  first
    .request({ type: 'variables.get', timeoutMs: 60_000 }, nothing, { body: Buffer.from(ASKED_WITHOUT_END) })
    .catch(() => {});
  await guest.fileAppears('asked');
  first.close();
  const second = await nextHost();
  expect((await readWhole(second, 'large.bin', 64 * MiB)).length).toBe(8 * MiB);
  await expect(readWhole(second, 'half.bin', MiB)).rejects.toMatchObject({ code: 'file_not_found' });
  expect(await value(second, 'type(s).__name__')).toBe("'Slow'");
});

test('hosts may follow each other as fast as they like', async () => {
  let host = await firstHost();
  await value(host, 'n = 0');
  for (let index = 1; index <= 10; index++) {
    run(host, 'import time; time.sleep(60)');
    host.close();
    host = await nextHost();
    expect(await value(host, 'n += 1\nn')).toBe(String(index));
  }
});

test('a guest that is not configured is not taken over', async () => {
  guest = await startListeningGuest();
  const attempt = connectGuest(await guest.connect(), {});
  await expect(attempt).rejects.toMatchObject({ message: expect.stringContaining('this guest is not configured yet') });
});

test('alone for long enough, the guest stops what runs, and later ends', async () => {
  const first = await firstHost({ interruptAfterMs: 300, endAfterMs: 1_500 });
  run(
    first,
    'import time\ntry:\n  open("began", "w").close()\n  time.sleep(60)\nfinally:\n  open("stopped", "w").close()',
  );
  await guest.fileAppears('began');
  first.close();
  await guest.fileAppears('stopped');
  expect(await guest.exited).toBe(0);
});

async function firstHost(alone?: AloneLimits): Promise<GuestConnection> {
  guest = await startListeningGuest();
  const config = alone === undefined ? guest.config : { ...guest.config, alone };
  const connection = await connectGuest(await guest.connect(), { config });
  await connection.ready;
  return connection;
}

async function nextHost(onText: (text: string) => void = () => {}): Promise<GuestConnection> {
  const connection = await connectGuest(await guest.connect(), {
    onBackground: ({ body }) => onText(body.toString()),
  });
  await connection.ready;
  return connection;
}

function run(connection: GuestConnection, code: string) {
  runs += 1;
  const collector = createCollector(join(guest.workspace, `${runs}.log`), DEFAULT_OUTPUT_LIMITS, () => {});
  const request = {
    executionId: `x-${runs}`,
    code: Buffer.from(code),
    language: PYTHON,
    filename: '<test>',
    timeoutMs: 30_000,
    signal: new AbortController().signal,
  };
  const end = runInGuest(connection, request, collector);
  end.catch(() => {});
  return { end, collector };
}

async function value(connection: GuestConnection, code: string): Promise<string | undefined> {
  const { end, collector } = run(connection, code);
  expect(await end).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'ok' } } });
  return collector.parts().value?.text;
}
