import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../src/lib/package-root.ts';
import { REQUIREMENTS } from './conformance/suite.ts';

const document = readFileSync(join(packageRoot(), 'docs', 'threat-model.md'), 'utf8');
const GROUPS = [...new Set(REQUIREMENTS.map(({ id }) => id.slice(0, id.indexOf(':'))))];
/** Every name in the form of a requirement's id, in any group that has one. */
const named = [...document.matchAll(new RegExp(`\\b(?:${GROUPS.join('|')})(?::[a-z0-9+-]+)+`, 'g'))].map(([id]) => id);

test('every requirement that the threat model names exists', () => {
  const ids = new Set(REQUIREMENTS.map(({ id }) => id));
  expect(named.filter((id) => !ids.has(id))).toEqual([]);
});

test('every requirement about isolation and limits is in the threat model', () => {
  const missing = REQUIREMENTS.map(({ id }) => id).filter(
    (id) => /^(host|neighbour|network|limit):/.test(id) && !named.includes(id),
  );
  expect(missing).toEqual([]);
});

test('no group of requirements is left out of the search for names', () => {
  expect(GROUPS).toEqual(expect.arrayContaining(['host', 'network', 'javascript']));
  expect(REQUIREMENTS.filter(({ id }) => !/^[a-z]+(:[a-z0-9+-]+)+$/.test(id))).toEqual([]);
});
