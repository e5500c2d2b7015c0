import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createKeptExecutions } from '../../src/directory/kept-executions.ts';
import { createKeptTotal } from '../../src/directory/kept-total.ts';
import { createCollector, DEFAULT_OUTPUT_LIMITS } from '../../src/execution/collect.ts';
import type { ExecutionResult } from '../../src/execution/result.ts';
import type { Head } from '../../src/lib/frames.ts';
import { createRecord } from '../../src/notebooks/record.ts';
import { usedBytes } from '../support/used-memory.ts';

/**
 * SECURITY: results that have next to no data and take megabytes: a thousand displays in sixteen empty representations. They counted nothing of the memory for
 * results that are kept, and thirty-two of them in each of some sessions ended the server.
 */
const MEGABYTE = 1_048_576;
const LIMIT_BYTES = 4 * MEGABYTE;
/** The last result is kept in any case. */
const LARGEST_RESULT_BYTES = 4 * MEGABYTE;
const RESULTS = 12;
const FINISHED = {
  ...{ type: 'finished', outcome: { kind: 'ok' }, state: 'kept', durationMs: 1, cpuMs: 1, peakMemoryBytes: 1 },
  artifactsOmitted: 0,
};

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hotcell-kept-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const HOSTILE: readonly [string, () => [Head, string][]][] = [
  ['displays in many empty representations', emptyDisplays],
  ['artifacts with long paths', () => [[FINISHED, longPaths()]]],
  ['values and messages in many parts', () => [sequences('ab\x1b7')]],
  ['values and messages that are parts of others', () => [sequences('abcdefghijklmnop\x1b7')]],
];

test.each(HOSTILE)('kept results of %s take no more than their limit', async (_what, frames) => {
  const total = createKeptTotal({ bytes: 1e9, logBytes: 1e9 });
  const kept = createKeptExecutions({ count: 1000, bytes: LIMIT_BYTES, logBytes: 1e9 }, total.of('mallory'));
  const before = usedBytes();
  for (let index = 0; index < RESULTS; index += 1) kept.add(execution(index, await resultOf(frames())), 0);
  await new Promise((resolve) => setImmediate(resolve));
  expect(kept.unfinished()).toEqual([]);
  expect(kept.all().length).toBeGreaterThan(0);
  expect(usedBytes() - before).toBeLessThan(LIMIT_BYTES + LARGEST_RESULT_BYTES);
});

test.each(HOSTILE)('the record of %s takes no more than its limit', async (_what, frames) => {
  const record = createRecord(LIMIT_BYTES);
  const before = usedBytes();
  for (let index = 0; index < RESULTS; index += 1) record.add('1', await resultOf(frames()));
  expect(usedBytes() - before).toBeLessThan(1.25 * LIMIT_BYTES);
  expect(record.executions().length).toBeGreaterThan(0);
});

/** A result whose texts are mostly escape sequences, which are removed. */
function sequences(unit: string): [Head, string] {
  const long = unit.repeat(Math.floor(65_536 / unit.length));
  const traceback = Array.from({ length: 45 }, () => unit.repeat(Math.floor(700 / unit.length)));
  const outcome = { kind: 'raised', name: 'E', message: '', traceback };
  const texts = { value: { truncated: false, bytes: long.length }, message: { bytes: long.length } };
  return [{ ...FINISHED, outcome, ...texts } as Head, `${long}${long}`];
}

function execution(
  index: number,
  result: ExecutionResult,
): Parameters<ReturnType<typeof createKeptExecutions>['add']>[0] {
  return {
    ...{ id: `x-${index}`, startedAt: new Date(), isRefused: false, result: Promise.resolve(result) },
    ...{ state: () => 'ended', waitsFor: () => undefined, partial: () => ({ stdout: '', stderr: '' }) },
    ...{ tail: () => ({ stdout: '', stderr: '' }), outputBytes: () => 0 },
    events: () => ({ [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }) }),
    ...{ cancel: () => {}, end: () => {} },
  };
}

/** The result as an execution makes it of frames that came as JSON: no string is shared. */
async function resultOf(frames: readonly [Head, string][]): Promise<ExecutionResult> {
  const collector = createCollector(join(folder, 'log'), DEFAULT_OUTPUT_LIMITS, () => {});
  for (const [head, text] of frames) {
    const body = Buffer.from(text);
    const parsed = JSON.parse(JSON.stringify(head)) as Head;
    await collector.receive({ head: parsed, body, stream: 2, sequence: 1, ack: 0, sizeBytes: body.length });
  }
  await collector.close();
  return { executionId: 'x', language: 'python', ...collector.finished(), ...collector.parts() } as ExecutionResult;
}

function emptyDisplays(): [Head, string][] {
  const displays = Array.from({ length: 1000 * 16 }, (_, number): [Head, string] => {
    const [index, part] = [Math.floor(number / 16), number % 16];
    const mediaType = `a/${'x'.repeat(95)}${part}`;
    return [{ type: 'display', index, part, mediaType, end: part === 15, id: `${index}`.padStart(100, '0') }, ''];
  });
  return [...displays, [FINISHED, '']];
}

function longPaths(): string {
  const paths = Array.from({ length: 240 }, (_, index) => `${index}${'/p'.repeat(2000)}`);
  return JSON.stringify(paths.map((path) => ({ path, sizeBytes: 1, change: 'created' })));
}
