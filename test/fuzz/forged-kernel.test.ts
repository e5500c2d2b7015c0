import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect } from 'vitest';
import { createCollector, DEFAULT_OUTPUT_LIMITS } from '../../src/execution/collect.ts';
import { type RunEnd, runInGuest } from '../../src/execution/run.ts';
import { connectGuest } from '../../src/guest/connect.ts';
import type { GuestConnection } from '../../src/guest/connection.ts';
import { PYTHON } from '../../src/languages/table.ts';
import type { Head } from '../../src/lib/frames.ts';
import { type ListeningGuest, startListeningGuest } from '../support/listening-guest.ts';
import { fuzz } from './fuzz.ts';
import { frameBytes, mutated, mutatedBytes } from './mutations.ts';

/** What a kernel may say to its supervisor. */
const SAID: readonly Head[] = [
  { type: 'up', pid: 7 },
  { type: 'drain', turn: 1 },
  { type: 'exercised' },
  { type: 'helper', pid: 7 },
  { type: 'clear', execution: 'x-1', wait: true },
  { type: 'display', execution: 'x-1', mediaType: 'image/png', index: 0, part: 0, end: true },
  { type: 'display', execution: 'x-1', mediaType: 'text/html', index: 1, part: 1, end: false, id: 'd', update: true },
  { type: 'value', execution: 'x-1', mediaType: 'text/html', index: 0, part: 0, end: true },
  { type: 'answer', question: 1, ok: true, keepsOutput: false, result: { matches: [] } },
  {
    type: 'finished',
    ...{ execution: 'x-1', cpuMs: 1, peakMemoryBytes: 1 },
    outcome: { kind: 'raised', name: 'E', message: 'm', traceback: ['t'], frames: [], hint: 'h' },
    variables: { added: ['a'], rebound: [], deleted: [], omitted: 0 },
    value: { truncated: false, bytes: 3 },
  },
];

const folder = mkdtempSync(join(tmpdir(), 'hotcell-fuzz-'));
let guest: ListeningGuest | undefined;
let connection: GuestConnection | undefined;
afterAll(async () => {
  await forget();
  rmSync(folder, { recursive: true, force: true });
});

const head = mutated(fc.constantFrom(...SAID)).map((value) => {
  const isHead = typeof value === 'object' && value !== null && JSON.stringify(value).length < 60_000;
  return isHead ? (value as Head) : SAID[0]!;
});
const forged = fc
  .array(frameBytes(head), { minLength: 1, maxLength: 4 })
  .chain((frames) => fc.oneof(fc.constant(Buffer.concat(frames)), mutatedBytes(fc.constant(Buffer.concat(frames)))));

fuzz(
  'forged-kernel: whatever code says on the socket of its kernel, the supervisor goes on',
  fc.asyncProperty(forged, async (bytes) => {
    try {
      await proveSurvival(bytes);
    } catch (error) {
      await forget(); // or the next input would be blamed
      throw error;
    }
  }),
  15,
);

async function proveSurvival(bytes: Buffer): Promise<void> {
  guest ??= await startListeningGuest();
  connection ??= await connectGuest(await guest.connect(), { config: guest.config });
  let isGone = false;
  void guest.exited.then(() => {
    isGone = true;
  });
  const end = await run(
    `import os, time\nos.set_blocking(3, True)\ndata = bytes.fromhex("${bytes.toString('hex')}")\nwhile data: data = data[os.write(3, data):]\ntime.sleep(0.01)`,
  );
  if (end.kind === 'finished') {
    // A frame that was cut leaves the kernel in the middle of one; whatever comes then ends it, and the next has a new kernel.
    for (let attempt = 0; attempt < 2; attempt += 1) await run('1');
    expect(await run('print(6 * 7)')).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'ok' } } });
  } else {
    // The host has ended the sandbox for what it was told. The supervisor must not have ended by itself.
    expect(end.error.code).toBe('guest_misbehaved');
    expect(isGone).toBe(false);
    await forget();
  }
}

async function forget(): Promise<void> {
  connection?.close();
  await guest?.[Symbol.asyncDispose]();
  guest = connection = undefined;
}

async function run(code: string): Promise<RunEnd> {
  const collector = createCollector(join(folder, 'log'), DEFAULT_OUTPUT_LIMITS, () => {});
  const kernelRun = {
    executionId: 'x-1',
    code: Buffer.from(code),
    language: PYTHON,
    filename: '<fuzz>',
    timeoutMs: 10_000,
  };
  return runInGuest(connection!, kernelRun, collector);
}
