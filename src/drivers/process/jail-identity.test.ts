import { expect, it } from 'vitest';
import { requireCommonId } from './jail-identity.ts';

it.each([
  ['the first user namespace', '         0          0 4294967295\n'],
  ['one in which every uid has its own', '0 0 1000\n1000 1000 4294966295\n'],
])('root can give jails their uid in %s', (_where, map) => {
  expect(() => requireCommonId(map)).not.toThrow();
});

it.each([
  ['a rootless container', '0 1000 1\n1 100000 65536\n'],
  ['a namespace with one uid', '         0          0          1\n'],
])('says that root has no such uid in %s, and what to do', (_where, map) => {
  expect(() => requireCommonId(map)).toThrowError(
    expect.objectContaining({ code: 'driver_unavailable', remedy: expect.stringContaining('ordinary user') }),
  );
});
