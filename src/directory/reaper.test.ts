import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { expiresAt, type Lifetime, whyDue } from '../sessions/lifetime.ts';
import { createReaper, nextLookAt } from './reaper.ts';

const life: Lifetime = { openedAt: 1000, lastUsedAt: 2000, inUse: false, idleMs: 100, maxAgeMs: 5000 };

describe('a session', () => {
  test('is due at its idle timeout', () => {
    expect(whyDue(life, 2099)).toBeUndefined();
    expect(whyDue(life, 2100)).toBe('idle');
  });

  test('in use is never due for idleness', () => {
    expect(whyDue({ ...life, inUse: true }, 5999)).toBeUndefined();
  });

  test('is due at its maximum age, in use or not', () => {
    expect(whyDue({ ...life, inUse: true }, 6000)).toBe('age');
    expect(whyDue({ ...life, lastUsedAt: 5990 }, 6000)).toBe('age');
  });

  test('says when it ends if it is not used again', () => {
    expect(expiresAt(life)).toBe(2100);
    expect(expiresAt({ ...life, lastUsedAt: 5950 })).toBe(6000);
  });

  test('that is not due now is checked again no later than it can be due', () => {
    const anyLife = fc.record({
      openedAt: fc.nat(1000),
      lastUsedAt: fc.integer({ min: 1000, max: 2000 }),
      inUse: fc.boolean(),
      idleMs: fc.integer({ min: 1, max: 3000 }),
      maxAgeMs: fc.integer({ min: 1, max: 3000 }),
    });
    fc.assert(
      fc.property(anyLife, fc.integer({ min: 2000, max: 4000 }), fc.nat(3000), (some, now, later) => {
        fc.pre(whyDue(some, now) === undefined);
        // The earliest that it can become due: left alone, or, if in use, left right after now.
        const left = some.inUse ? { ...some, inUse: false, lastUsedAt: now } : some;
        if (whyDue(left, now + later) !== undefined) {
          expect(nextLookAt(some, now)).toBeLessThanOrEqual(now + later);
          expect(nextLookAt(some, now)).toBeGreaterThan(now);
        }
      }),
    );
  });
});

describe('the reaper', () => {
  function reaping() {
    const clock = manualClock(0);
    const lives = new Map<string, { -readonly [Key in keyof Lifetime]: Lifetime[Key] }>();
    const reaped: string[] = [];
    let looks = 0;
    const reaper = createReaper(
      clock,
      () => lives.values(),
      (now) => {
        looks += 1;
        for (const [name, one] of lives) {
          const why = whyDue(one, now);
          if (why === undefined) continue;
          lives.delete(name);
          reaped.push(`${name} ${why} ${now}`);
        }
      },
    );
    const open = (name: string, idleMs: number, maxAgeMs = 1_000_000) => {
      const one = { openedAt: clock.now(), lastUsedAt: clock.now(), inUse: false, idleMs, maxAgeMs };
      lives.set(name, one);
      reaper.watch(one);
      return one;
    };
    return { clock, reaped, reaper, open, looks: () => looks };
  }

  test('ends each session at its time with one timer, however many there are', () => {
    const { clock, reaped, open } = reaping();
    for (let n = 0; n < 100; n += 1) open(`s${n}`, 1000 + n);
    expect(clock.timers()).toBe(1);
    clock.advance(1049);
    expect(reaped).toHaveLength(50);
    clock.advance(1000);
    expect(reaped).toHaveLength(100);
    expect(reaped.at(-1)).toBe('s99 idle 1099');
    expect(clock.timers()).toBe(0);
  });

  test('seldom checks a session that is used all the time', () => {
    const { clock, reaped, open, looks } = reaping();
    const one = open('s', 1000);
    for (let n = 0; n < 1000; n += 1) {
      clock.advance(10);
      one.lastUsedAt = clock.now();
    }
    expect(looks()).toBeLessThanOrEqual(11);
    clock.advance(999);
    expect(reaped).toEqual([]);
    clock.advance(1);
    expect(reaped).toEqual(['s idle 11000']);
  });

  test('leaves a busy session until its maximum age, and ends one that becomes idle at its idle timeout', () => {
    const { clock, reaped, open } = reaping();
    const busy = open('busy', 100, 5000);
    const finishing = open('finishing', 100, 5000);
    busy.inUse = true;
    finishing.inUse = true;
    clock.advance(1234);
    finishing.inUse = false;
    finishing.lastUsedAt = clock.now();
    clock.advance(10_000);
    expect(reaped).toEqual(['finishing idle 1334', 'busy age 5000']);
  });

  test('does nothing once it is stopped', () => {
    const { clock, reaped, reaper, open } = reaping();
    open('s', 10);
    reaper.stop();
    open('t', 5);
    clock.advance(100);
    expect([reaped, clock.timers()]).toEqual([[], 0]);
  });
});
