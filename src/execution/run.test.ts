import { expect, test } from 'vitest';
import { allLanguages, languageNamed } from '../languages/table.ts';
import type { Limits } from '../sandbox/spec.ts';
import { outcomeOf } from './run.ts';

const run = {
  ...{ executionId: 'x-1', code: Buffer.alloc(0), filename: 'f', timeoutMs: 1 },
  language: languageNamed(allLanguages([]), 'rust'),
};

test('only commands that the language needs can be missing: a name invented by the guest is not reported', () => {
  const outcome = (...missing: string[]) =>
    outcomeOf({ kind: 'unavailable', missing }, run, { limits: { memoryBytes: 1 } as Limits, memoryKilled: false });
  expect(outcome('cc', 'made-up')).toMatchObject({ kind: 'unavailable', missing: ['cc'] });
  expect(outcome('made-up')).toEqual({ kind: 'kernel-died' });
});
