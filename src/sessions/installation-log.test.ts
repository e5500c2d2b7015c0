import { expect, test } from 'vitest';
import type { Installation } from './installation.ts';
import { createInstallationLog } from './installation-log.ts';

const KEYS = ['a', 'b'].map((digit) => digit.repeat(64)) as [string, string];

function installation(...layers: string[]): Installation {
  const facts = {
    manager: 'pip',
    present: [],
    superseded: [],
    needsReset: false,
    reused: false,
    durationMs: 1,
  } as const;
  return { ...facts, layers, installed: layers.map((key) => ({ name: key.slice(0, 1), version: '1' })) };
}

test('it keeps what an earlier server installed, and what is added after it, in order', async () => {
  const written: number[] = [];
  const log = createInstallationLog([installation(KEYS[0])], async () => {
    written.push(log.all().length);
  });
  await log.add(installation(KEYS[1]));
  await log.add(installation()); // all was there already
  expect(log.all()).toEqual(KEYS.map((key) => installation(key)));
  expect(written).toEqual([2]);
});

test('an installation whose layer is gone is no longer one', () => {
  const log = createInstallationLog([installation(...KEYS), installation(KEYS[1])], async () => {});
  log.withdraw([KEYS[0]]);
  expect(log.all()).toEqual([installation(KEYS[1])]);
});

test('a session that installs two versions in turn comes to an end', async () => {
  const log = createInstallationLog([], async () => {});
  for (let count = 0; count < 200; count += 1) {
    log.requireRoom();
    await log.add(installation(KEYS[0]));
  }
  expect(log.requireRoom).toThrow(/200 installations/);
});

test('a session that installs thousands of packages again and again comes to an end before its record is long', async () => {
  const log = createInstallationLog([], async () => {});
  const installed = Array.from({ length: 5000 }, (_, at) => ({ name: `package-${at}`, version: '1.0.0' }));
  const all = async () => {
    for (let count = 0; count < 10; count += 1) {
      log.requireRoom();
      await log.add({ ...installation(KEYS[0]), installed });
    }
  };
  await expect(all()).rejects.toThrow(/20000 installed packages/);
  expect(JSON.stringify(log.all()).length).toBeLessThan(2 * 1_048_576);
});
