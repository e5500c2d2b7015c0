import { expect, test } from 'vitest';
import { createExecutionQuota } from './execution-quota.ts';
import type { Owner } from './owner.ts';

const MiB = 1_048_576;
const ada = { id: 'ada', quotas: { executions: 100 } } as Owner;
const mallory = { ...ada, id: 'mallory' };

test('an owner has a bounded number of running and queued executions', () => {
  const quota = createExecutionQuota(8);
  const ends = Array.from({ length: 100 }, () => quota.admit(ada, '1'));
  expect(() => quota.admit(ada, '1')).toThrow('100 of your executions are running or queued');
  quota.admit(mallory, '1');
  ends[0]!();
  quota.admit(ada, '1');
});

test('the code of running and queued executions is bounded in memory: the calls that brought it may be over', () => {
  const quota = createExecutionQuota(8);
  const ends = Array.from({ length: 15 }, () => quota.admit(ada, 'x'.repeat(MiB)));
  expect(() => quota.admit(ada, 'x'.repeat(MiB))).toThrow('the code of your 15 executions');
  quota.admit(ada, '1')();
  quota.admit(mallory, 'x'.repeat(MiB));
  for (const end of ends) end();
  quota.admit(ada, 'x'.repeat(100 * MiB));
});
