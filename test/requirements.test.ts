import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../src/lib/package-root.ts';
import { REQUIREMENTS } from './conformance/suite.ts';
import { LEFT_TO_SHARED, SMOKE } from './conformance/where-proved.ts';
import { TARGET_NAMES, TARGETS } from './support/targets.ts';

const ids = REQUIREMENTS.map(({ id }) => id);

test('requirements have unique ids', () => {
  expect(new Set(ids).size).toBe(ids.length);
});

test('every requirement says whether it is about the guest or a driver', () => {
  expect(REQUIREMENTS.filter(({ tag }) => tag !== 'guest' && tag !== 'driver')).toEqual([]);
});

test('a dozen requirements about the guest are proved everywhere', () => {
  const ofGuest = REQUIREMENTS.filter(({ tag }) => tag === 'guest').map(({ id }) => id);
  expect(SMOKE.filter((id) => !ofGuest.includes(id))).toEqual([]);
  expect(new Set(SMOKE).size).toBe(12);
});

test('what targets leave to the shared jail are requirements about drivers, and no attack on the host or the network', () => {
  const ofDrivers = REQUIREMENTS.filter(({ tag }) => tag === 'driver').map(({ id }) => id);
  for (const beginnings of Object.values(LEFT_TO_SHARED)) {
    const of = (beginning: string) => ofDrivers.filter((id) => id.startsWith(beginning));
    expect(beginnings.filter((beginning) => of(beginning).length === 0)).toEqual([]);
    expect(beginnings.flatMap(of).filter((id) => /^(host|network|traits):/.test(id))).toEqual([]);
  }
});

test('every target has a file that proves the requirements on it', () => {
  const folder = join(packageRoot(), 'test', 'conformance');
  const files = readdirSync(folder).filter((name) => name.endsWith('.test.ts'));
  const texts = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
  const proved = [...texts.matchAll(/TARGETS\.(\w+)/g)].map(([, key]) => key);
  expect(proved.sort()).toEqual(Object.keys(TARGETS).sort());
  expect(Object.values(TARGETS).map(({ name }) => name)).toEqual(TARGET_NAMES);
});

test('every exemption has a reason and is of a target that exists', () => {
  const targets: readonly string[] = TARGET_NAMES;
  const wrong = REQUIREMENTS.flatMap(({ id, exempt = {} }) =>
    Object.entries(exempt)
      .filter(([target, reason]) => !targets.includes(target) || reason === '')
      .map(([target]) => `${id}: ${target}`),
  );
  expect(wrong).toEqual([]);
});

test('every requirement is proved on a target', () => {
  const never = REQUIREMENTS.filter(({ exempt = {} }) => TARGET_NAMES.every((name) => exempt[name] !== undefined));
  expect(process.getuid?.() === 0 ? never.map(({ id }) => id) : []).toEqual([]);
});
