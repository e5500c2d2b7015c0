import { expect, test } from 'vitest';
import { COVERED_BELOW_KEPT, KEPT_PROC_ENTRIES } from '../../sandbox/proc-entries.ts';
import { DEFAULT_LIMITS, type SandboxSpec } from '../../sandbox/spec.ts';
import { sessionJail } from './session-jail.ts';

const MiB = 1_048_576;
const SPEC: SandboxSpec = {
  id: 's-1',
  owner: 'local',
  limits: { ...DEFAULT_LIMITS, memoryBytes: 400 * MiB, diskBytes: 100 * MiB },
  mounts: [],
  preloads: [],
  environment: {},
};

test('the workspace has the size of the disk limit, the scratch folders a quarter of the memory', () => {
  expect(sessionJail(SPEC)).toEqual({
    diskBytes: 100 * MiB,
    tmpBytes: 100 * MiB,
    shmBytes: 100 * MiB,
    inodes: 25_600,
    proc: { kept: KEPT_PROC_ENTRIES, covered: COVERED_BELOW_KEPT },
    mounts: [],
  });
});

test('a small sandbox can still hold a few files', () => {
  const jail = sessionJail({ ...SPEC, limits: { ...SPEC.limits, memoryBytes: MiB, diskBytes: MiB } });
  expect(jail).toMatchObject({ tmpBytes: MiB, shmBytes: MiB, inodes: 4096 });
});

test('mounts are named by number, so that no host path is visible inside', () => {
  const mounts = [
    { source: '/home/me/a', target: '/data', readOnly: true, identity: { device: '1', inode: '2' } },
    { source: '/home/me/b', target: '/workspace/b', readOnly: false, identity: { device: '1', inode: '3' } },
  ];
  const jail = sessionJail({ ...SPEC, mounts });
  expect(jail.mounts).toEqual([
    { index: 0, target: '/data', device: '1', inode: '2' },
    { index: 1, target: '/workspace/b', device: '1', inode: '3' },
  ]);
  expect(JSON.stringify(jail)).not.toContain('/home/me');
});
