import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createKeptTotal } from './kept-total.ts';

const LIMITS = { bytes: 100, logBytes: 1000 };

function shelf() {
  const total = createKeptTotal(LIMITS);
  const here = new Map<number, { owner: string; bytes: number; logBytes: number; leave: () => void }>();
  let next = 0;
  const add = (bytes: number, logBytes = 0, owner = 'ada') => {
    const name = next++;
    const leave = total.of(owner).add({ bytes, logBytes }, () => here.delete(name));
    here.set(name, { owner, bytes, logBytes, leave });
  };
  return { here, add, names: () => [...here.keys()] };
}

test('drops the oldest when there is too much in memory or on disk', () => {
  const { add, names } = shelf();
  for (const bytes of [50, 40, 30]) add(bytes);
  expect(names()).toEqual([1, 2]);
  add(1, 1001);
  expect(names()).toEqual([3]);
});

test('keeps the last one however large it is, until another comes', () => {
  const { add, names } = shelf();
  add(1);
  add(5000, 5000);
  expect(names()).toEqual([1]);
  add(1);
  expect(names()).toEqual([2]);
});

test('drops nothing of the owners that keep little when another owner floods it', () => {
  const { add, names } = shelf();
  add(30, 0, 'bob');
  for (let times = 0; times < 20; times++) add(20);
  expect(names()).toEqual([0, 18, 19, 20]);
  add(40, 0, 'eve');
  expect(names()).toEqual([0, 20, 21]);
});

test('stops counting a removed execution, even if it is removed twice', () => {
  const { add, here, names } = shelf();
  add(90);
  here.get(0)!.leave();
  here.get(0)!.leave();
  here.delete(0);
  add(90);
  add(10);
  expect(names()).toEqual([1, 2]);
});

test('in any order of additions and removals, the newest of each owner stay, within the limits unless only one is left', () => {
  const step = fc.oneof(fc.tuple(fc.nat(150), fc.nat(1500), fc.constantFrom('ada', 'bob', 'eve')), fc.nat(5));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { add, here, names } = shelf();
      for (const one of steps) {
        if (typeof one !== 'number') {
          add(...one);
        } else {
          const name = names()[one];
          if (name !== undefined) here.get(name)!.leave();
          if (name !== undefined) here.delete(name);
        }
        const kept = [...here.values()];
        if (typeof one !== 'number') expect(kept.at(-1)).toMatchObject({ bytes: one[0], owner: one[2] });
        if (kept.length < 2) continue;
        expect(kept.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(LIMITS.bytes);
        expect(kept.reduce((sum, { logBytes }) => sum + logBytes, 0)).toBeLessThanOrEqual(LIMITS.logBytes);
      }
    }),
  );
});
