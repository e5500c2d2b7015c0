import { expect, test } from 'vitest';
import { diskEnforcement } from './disk-enforcement.ts';

const mount = (target: string, readOnly: boolean) => ({
  ...{ source: '/srv/data', target, readOnly },
  identity: { device: '1', inode: '2' },
});

test('the disk limit is hard if a session can write only to its own folders', () => {
  expect(diskEnforcement({ mounts: [mount('/data', true)] })).toMatchObject({ strength: 'hard' });
});

test('a writable host folder has no limit, and is named', () => {
  const mounts = [mount('/data', false), mount('/more', true)];
  expect(diskEnforcement({ mounts })).toEqual({
    strength: 'none',
    by: 'size of the workspace tmpfs; no limit in /data',
  });
  expect(diskEnforcement({ mounts: [mount('/workspace', true)] })).toMatchObject({ strength: 'none' });
  expect(diskEnforcement({ mounts: [mount('/home', true)], workspace: '/home' })).toMatchObject({ strength: 'none' });
});
