import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { ExecutionEvent } from '../../execution/events.ts';
import { lineOf } from '../../http/run-lines.ts';
import type { Outcome } from '../../sandbox/outcome.ts';
import { streamedRun } from './streamed-run.ts';

const event: fc.Arbitrary<ExecutionEvent> = fc.oneof(
  fc.record({ kind: fc.constantFrom('stdout', 'stderr'), text: fc.string({ unit: 'grapheme', minLength: 1 }) }),
  fc.record({ kind: fc.constant('display'), update: fc.boolean(), representations: fc.constant([]) }),
);
const BASE = new URL('http://127.0.0.1:1');
const refuse = () => new HotcellError('session_busy', 'refused');

async function* cut(text: string, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length]!;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

const answer = (...lines: object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

test('every event comes once and in order, wherever the bytes were cut', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 20 }), sizes, async (events, pieces) => {
      const sent = events.flatMap((one) => [lineOf(one)!, {}]);
      const text = answer({ execution_id: 'x-1' }, ...sent, { ended: { outcome: { kind: 'exited', exitCode: 3 } } });
      const run = await streamedRun(cut(text, pieces), BASE, refuse);
      const seen: ExecutionEvent[] = [];
      for await (const one of run) seen.push(one);
      expect(seen).toEqual(events);
      expect(run.executionId).toBe('x-1');
      expect(run.outcome()).toEqual({ kind: 'exited', exitCode: 3 });
    }),
  );
});

test('every outcome is understood', async () => {
  const outcomes: { readonly [Kind in Outcome['kind']]: Extract<Outcome, { kind: Kind }> } = {
    ok: { kind: 'ok' },
    raised: { kind: 'raised', name: 'ValueError', message: 'no', traceback: ['ValueError: no'], hint: 'try yes' },
    exited: { kind: 'exited', exitCode: 3 },
    'timed-out': { kind: 'timed-out', limitMs: 1000 },
    'out-of-memory': { kind: 'out-of-memory', limitBytes: 1024 },
    interrupted: { kind: 'interrupted' },
    'kernel-died': { kind: 'kernel-died', signal: 'SIGSEGV' },
    'sandbox-lost': { kind: 'sandbox-lost', reason: 'the container ended with 137' },
    unavailable: { kind: 'unavailable', missing: ['go'], hint: 'Use an image that has it.' },
  };
  for (const outcome of Object.values(outcomes)) {
    const run = await streamedRun(cut(answer({ execution_id: 'x-1' }, { ended: { outcome } }), [50]), BASE, refuse);
    for await (const _ of run);
    expect(run.outcome()).toEqual(outcome);
  }
});

test('a truncated answer is not a success', async () => {
  const run = await streamedRun(cut(answer({ execution_id: 'x-1' }, { stdout: 'a' }), [10]), BASE, refuse);
  for await (const _ of run);
  expect(run.outcome).toThrow(expect.objectContaining({ code: 'engine_failed' }));
  await expect(streamedRun(cut('', [1]), BASE, refuse)).rejects.toMatchObject({ code: 'engine_failed' });
  await expect(streamedRun(cut('<html>\n', [3]), BASE, refuse)).rejects.toMatchObject({ code: 'server_misbehaved' });
});

test('an error of the server is that error', async () => {
  const run = await streamedRun(
    cut(answer({ execution_id: 'x-1' }, { error: { code: 'session_busy' } }), [7]),
    BASE,
    refuse,
  );
  for await (const _ of run);
  expect(run.outcome).toThrow('refused');
});

test.each<Outcome>([
  { kind: 'sandbox-lost', reason: 'its processes ended' },
  { kind: 'interrupted', reason: 'shutting-down' },
])('an outcome that the program did not cause is passed on unchanged: %j', async (outcome) => {
  const run = await streamedRun(cut(answer({ execution_id: 'x-1' }, { ended: { outcome } }), [100]), BASE, refuse);
  for await (const _ of run);
  expect(run.outcome()).toEqual(outcome);
});
