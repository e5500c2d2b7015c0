import { expect, test } from 'vitest';
import {
  type DriverDeclarations,
  driversWith,
  isWeakest,
  leastLevel,
  mostLevel,
  strongestFirst,
} from './declaration.ts';

const traits = { images: true, mounts: true, persistence: false, sharesWithinOwner: false, passesDescriptors: false };
/** `docker` stands for a driver whose level depends on the host. */
const declared: DriverDeclarations = {
  gvisor: { levels: [3], traits: { ...traits, persistence: true } },
  docker: { levels: [3, 2], traits },
  process: { levels: [1], traits: { ...traits, images: false } },
};

test('a driver has a range of levels', () => {
  expect([leastLevel(declared.docker), mostLevel(declared.docker)]).toEqual([2, 3]);
  expect([leastLevel(declared.gvisor), mostLevel(declared.gvisor)]).toEqual([3, 3]);
});

test('of two drivers that may reach the same level, the one with the higher minimum is stronger', () => {
  expect(strongestFirst(declared)).toEqual(['gvisor', 'docker', 'process']);
});

test('drivers with a trait are listed weakest first, whatever the order of registration', () => {
  expect(driversWith('images', declared)).toEqual(['docker', 'gvisor']);
  expect(driversWith('persistence', declared)).toEqual(['gvisor']);
  expect(driversWith('passesDescriptors', declared)).toEqual([]);
});

test('only the lowest level of all excludes no driver', () => {
  expect(isWeakest('process', declared)).toBe(true);
  expect(isWeakest('docker', declared)).toBe(false);
});
