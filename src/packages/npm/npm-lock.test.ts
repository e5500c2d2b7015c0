import { expect, test } from 'vitest';
import { lockedPackages, parseNpmLock } from './npm-lock.ts';

function lockText(packages: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ name: 'layer', lockfileVersion: 3, packages: { '': {}, ...packages } });
}

const ordinary = {
  version: '1.0.0',
  integrity: 'sha512-x',
  license: 'MIT',
  engines: { node: '>=18' },
  bin: { a: 'a.js' },
};

test('a lock of thousands of packages is one', () => {
  const packages = Object.fromEntries(Array.from({ length: 4000 }, (_, at) => [`node_modules/p${at}`, ordinary]));
  const lock = parseNpmLock(lockText(packages));
  expect(lockedPackages(lock!)).toHaveLength(4000);
});

test('a lock in which a package has as many engines as its author likes is none', () => {
  const engines = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`e${at}`, '*']));
  const one = (its: object) => lockText({ 'node_modules/one': { ...ordinary, engines: its } });
  expect(parseNpmLock(one(engines))).toBeUndefined();
  expect(parseNpmLock(one({ node: '*' }))).toBeDefined();
});
