import { expect, it } from 'vitest';
import { createDemand, RECENT_MS } from './pool-demand.ts';

it('is the minimum until claims follow each other, and then grows by one for each', () => {
  const demand = createDemand({ least: 1, most: 4 });
  expect(demand.target(0)).toBe(1);
  demand.claimed(0);
  expect(demand.target(0)).toBe(1);
  demand.claimed(1_000);
  expect(demand.target(1_000)).toBe(2);
});

it('never exceeds the maximum, however many are claimed', () => {
  const demand = createDemand({ least: 1, most: 4 });
  for (let claim = 0; claim < 100; claim += 1) demand.claimed(claim);
  expect(demand.target(100)).toBe(4);
});

it('falls back to the minimum when the last claim is no longer recent', () => {
  const demand = createDemand({ least: 2, most: 4 });
  for (const at of [0, 100, 200]) demand.claimed(at);
  expect(demand.target(RECENT_MS)).toBe(3);
  expect(demand.target(RECENT_MS + 200)).toBe(2);
});
