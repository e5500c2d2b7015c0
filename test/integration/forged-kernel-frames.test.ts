import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createCollector, DEFAULT_OUTPUT_LIMITS } from '../../src/execution/collect.ts';
import { type RunEnd, runInGuest } from '../../src/execution/run.ts';
import { connectGuest } from '../../src/guest/connect.ts';
import { PYTHON } from '../../src/languages/table.ts';
import { startListeningGuest } from '../support/listening-guest.ts';

/** Code can reach the socket on which its kernel talks to the supervisor. What it says there is a lie about itself at most. */
describe('a frame that the code forges', () => {
  const finished = { type: 'finished', execution: 'x-1', outcome: { kind: 'ok' }, cpuMs: 1, peakMemoryBytes: 1 };
  const display = { type: 'display', execution: 'x-1', mediaType: 'image/png', index: 0, part: 0, end: true };

  test.each<[string, string]>([
    ['with an outcome that is none', JSON.stringify({ ...finished, outcome: { kind: 'won' } })],
    [
      'with a lack that only the supervisor can know of',
      JSON.stringify({ ...finished, outcome: { kind: 'unavailable', missing: ['rustc'] } }),
    ],
    [
      'with a signal that is a sentence',
      JSON.stringify({ ...finished, outcome: { kind: 'kernel-died', signal: '\x1b]0;t\x07' } }),
    ],
    ['with a message beyond every limit', JSON.stringify({ ...finished, outcome: raised('m'.repeat(65_000)) })],
    ['with an endless time', JSON.stringify(finished).replace('"cpuMs":1', '"cpuMs":1e999')],
    ['with endless memory', JSON.stringify(finished).replace('"peakMemoryBytes":1', '"peakMemoryBytes":1e999')],
    ['with members of the wrong kind', JSON.stringify({ ...display, index: 'first' })],
    ['with a media type that is none', JSON.stringify({ ...display, mediaType: 'image/png\n' })],
    ['with more representations than there may be', JSON.stringify({ ...display, part: 16 })],
    ['with a negative index', JSON.stringify({ ...display, index: -1 })],
    ['with variables that are none', JSON.stringify({ ...finished, variables: 7 })],
    ['with names of the wrong kind', JSON.stringify({ ...finished, variables: { added: 7 } })],
    [
      'with an endless number of names',
      JSON.stringify({ ...finished, variables: { omitted: 1 } }).replace('"omitted":1', '"omitted":1e999'),
    ],
    ['with a value that is none', JSON.stringify({ ...finished, value: 7 })],
    ['with a value that says nothing of itself', JSON.stringify({ ...finished, value: {} })],
    ['with an exit code that is none', JSON.stringify({ ...finished, outcome: { kind: 'exited', exitCode: 'x' } })],
    ['with an exception without a name', JSON.stringify({ ...finished, outcome: { ...raised('m'), name: 7 } })],
    ['with more memory than JSON can say', JSON.stringify({ ...finished, peakMemoryBytes: 2 ** 60 })],
    [
      'with an outcome that is nested deeply',
      JSON.stringify({ ...finished, outcome: { kind: 'ok', more: 'MORE' } }).replace('"MORE"', nested(975)),
    ],
    ['with an id that is nested deeply', JSON.stringify({ ...display, id: 'ID' }).replace('"ID"', nested(975))],
    ['with an id that is no text', JSON.stringify({ ...display, id: { a: 1 } })],
    ['that is no JSON', '{"type":"finished"'],
  ])('%s ends its kernel and not its sandbox, in time', async (_what, head) => {
    const end = await run(
      `import os, struct, time\nhead = bytes.fromhex("${Buffer.from(head).toString('hex')}")\n` +
        'os.write(3, struct.pack(">2sBBIIIII", b"HC", 1, 0, len(head), 0, 0, 0, 0) + head)\ntime.sleep(20)',
    );
    expect(end).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'kernel-died' }, state: 'lost' } });
  });

  test('that asks for a drain in no way that there is, while output waits for its reader, ends its kernel', async () => {
    const code = `import os, struct, threading, time
def flood():
    while True: os.write(1, b"x" * 65536)
threading.Thread(target=flood, daemon=True).start()
time.sleep(0.5)
head = b'{"type":"drain","execution":"x-1"}'
os.write(3, struct.pack(">2sBBIIIII", b"HC", 1, 0, len(head), 0, 0, 0, 0) + head)
time.sleep(20)`;
    const end = await run(code, () => sleep(1_500));
    expect(end).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'kernel-died' }, state: 'lost' } });
  });

  test('with names beyond every limit has them cut', async () => {
    const deep = nested(40);
    const names = JSON.stringify({
      ...finished,
      variables: { added: Array(200).fill('n'.repeat(150)), rebound: ['DEEP'] },
    });
    const end = await run(
      `import os, struct, time\nhead = bytes.fromhex("${Buffer.from(names.replace('"DEEP"', deep)).toString('hex')}")\n` +
        'os.write(3, struct.pack(">2sBBIIIII", b"HC", 1, 0, len(head), 0, 0, 0, 0) + head)\ntime.sleep(20)',
    );
    expect(end).toMatchObject({ kind: 'finished', end: { variables: { rebound: [], omitted: 0 } } });
    expect(end.kind === 'finished' && end.end.variables?.added).toHaveLength(100);
  });

  test('with members that nobody knows is passed on without them', async () => {
    const head = { ...finished, outcome: { kind: 'ok', more: nested(20) } };
    const end = await run(
      `import os, struct, time\nhead = b'${JSON.stringify(head)}'\n` +
        'os.write(3, struct.pack(">2sBBIIIII", b"HC", 1, 0, len(head), 0, 0, 0, 0) + head)\ntime.sleep(20)',
    );
    expect(end).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'ok' } } });
    expect(JSON.stringify(end)).not.toContain('more');
  });

  test('with a value that lies about its length and is no text has what there is of it, cut', async () => {
    const head = JSON.stringify({ ...finished, value: { truncated: true, bytes: -5 } });
    const end = await run(
      `import os, struct, time\nhead = bytes.fromhex("${Buffer.from(head).toString('hex')}")\nbody = b"\\xff" * 100_000\n` +
        'data = struct.pack(">2sBBIIIII", b"HC", 1, 0, len(head), len(body), 0, 0, 0) + head + body\n' +
        'os.set_blocking(3, True)\nwhile data: data = data[os.write(3, data):]\ntime.sleep(20)',
    );
    expect(end).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'ok' }, artifacts: [] } });
  });

  test('that is an end like any other ends the execution, and that is all', async () => {
    const end = await run(
      `import os, struct, time\nhead = b'${JSON.stringify(finished)}'\n` +
        'os.write(3, struct.pack(">2sBBIIIII", b"HC", 1, 0, len(head), 0, 0, 0, 0) + head)\ntime.sleep(20)',
    );
    expect(end).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'ok' } } });
  });
});

test.each<[string, string]>([
  ['a name of 70,000 letters', 'raise type("N" * 70_000, (Exception,), {})("m")'],
  ['a message of a million letters', 'raise Exception("m" * 1_000_000)'],
  ['a message that JSON makes six times as long', 'raise Exception("\\x01" * 100_000)'],
  [
    'three thousand causes',
    'e = None\nfor i in range(3000):\n  try: raise ValueError("y" * 100) from e\n  except ValueError as x: e = x\nraise e',
  ],
  ['a message that is no UTF-8', 'raise Exception("\\udcff")'],
])('an exception with %s is raised like any other', async (_what, code) => {
  expect(await run(code)).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'raised' }, state: 'kept' } });
});

function nested(depth: number): string {
  return `${'['.repeat(depth)}${']'.repeat(depth)}`;
}

function raised(message: string) {
  return { kind: 'raised', name: 'E', message, traceback: [] };
}

async function run(code: string, read: () => void | Promise<void> = () => {}): Promise<RunEnd> {
  await using guest = await startListeningGuest();
  const connection = await connectGuest(await guest.connect(), { config: guest.config });
  const collector = createCollector(join(guest.workspace, 'log'), DEFAULT_OUTPUT_LIMITS, read);
  const signal = new AbortController().signal;
  const kernelRun = {
    executionId: 'x-1',
    code: Buffer.from(code),
    language: PYTHON,
    filename: '<test>',
    timeoutMs: 15_000,
    signal,
  };
  try {
    return await runInGuest(connection, kernelRun, collector);
  } finally {
    connection.close();
  }
}
