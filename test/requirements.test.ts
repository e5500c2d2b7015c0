import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../src/lib/package-root.ts';
import { REQUIREMENTS } from './conformance/suite.ts';
import { LEFT_TO_ALIKE, LEFT_TO_OTHERS, SMOKE } from './conformance/where-proved.ts';
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

test('what a target leaves to another are requirements about drivers that the other proves, and no attack on the host or the network', () => {
  const ofDrivers = REQUIREMENTS.filter(({ tag }) => tag === 'driver').map(({ id }) => id);
  const of = (beginning: string) => ofDrivers.filter((id) => id.startsWith(beginning));
  for (const lefts of Object.values(LEFT_TO_OTHERS)) {
    const ids = lefts.flatMap((left) => left.ids);
    expect(ids.filter((beginning) => of(beginning).length === 0)).toEqual([]);
    expect(ids.flatMap(of).filter((id) => /^(host|network|traits):/.test(id))).toEqual([]);
    for (const left of lefts) {
      const passedOn = LEFT_TO_OTHERS[left.other]?.flatMap((further) => further.ids) ?? [];
      const nowhere = left.ids.flatMap(of).filter((id) => passedOn.some((beginning) => id.startsWith(beginning)));
      expect(nowhere).toEqual([]);
    }
  }
});

test('what a plain run leaves to requirements that are alike is there, and so are those, which it proves', () => {
  for (const { beginning, proved } of LEFT_TO_ALIKE) {
    expect(ids.filter((id) => id.startsWith(beginning) && !proved.includes(id))).not.toEqual([]);
    expect(proved).not.toEqual([]);
    expect(proved.filter((id) => !ids.includes(id))).toEqual([]);
    const left = LEFT_TO_ALIKE.filter((other) => !other.proved.some((id) => proved.includes(id)));
    expect(proved.filter((id) => left.some((other) => id.startsWith(other.beginning)))).toEqual([]);
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
