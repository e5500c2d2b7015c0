import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../src/lib/package-root.ts';
import { REQUIREMENTS } from './conformance/suite.ts';

const document = readFileSync(join(packageRoot(), 'docs', 'threat-model.md'), 'utf8');
const named = [
  ...document.matchAll(
    /`((?:host|neighbour|network|limit|interrupt|execute|display|traceback|session|files|variables|complete|questions|language|bash|recipe):[a-z0-9-]+)`/g,
  ),
].map((match) => match[1]);

test('every requirement that the threat model names exists', () => {
  const ids = new Set(REQUIREMENTS.map(({ id }) => id));
  expect(named.filter((id) => !ids.has(id ?? ''))).toEqual([]);
});

test('every requirement about isolation and limits is in the threat model', () => {
  const missing = REQUIREMENTS.map(({ id }) => id).filter(
    (id) => /^(host|neighbour|network|limit):/.test(id) && !named.includes(id),
  );
  expect(missing).toEqual([]);
});

test('requirements have unique ids', () => {
  const ids = REQUIREMENTS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});
