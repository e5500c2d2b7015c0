import { expect, test } from 'vitest';
import { createLanes } from './lanes.ts';

test('every lane that was in use reports a loss once', () => {
  const lanes = createLanes();
  const [python, bash] = [lanes.of('python'), lanes.of('bash')];
  lanes.lose('gone');
  expect(lanes.takeLoss(python)).toBe('gone');
  expect(lanes.takeLoss(python)).toBeUndefined();
  expect(lanes.takeLoss(lanes.of('node'))).toBeUndefined();
  expect(lanes.takeLoss(bash)).toBe('gone');
  expect(lanes.takeLoss(bash)).toBeUndefined();
});

test('the first lane that is used after a loss reports it, even a new one', () => {
  const lanes = createLanes();
  lanes.of('python');
  lanes.lose('gone');
  expect(lanes.takeLoss(lanes.of('bash'))).toBe('gone');
  expect(lanes.takeLoss(lanes.of('python'))).toBe('gone');
});

test('idle waits for the work of all lanes', async () => {
  const lanes = createLanes();
  let done = 0;
  for (const kernel of ['python', 'bash']) {
    lanes.of(kernel).queue = Promise.resolve().then(() => {
      done += 1;
    });
  }
  await lanes.idle();
  expect(done).toBe(2);
});
