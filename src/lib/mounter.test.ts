import { expect, it } from 'vitest';
import { foreignMounts, mounterOf } from './mounter.ts';

const MOUNTS = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:25 / /tmp rw,nosuid - tmpfs tmpfs rw
40 30 0:40 / /tmp/hotcell-1000 rw,nosuid,nodev shared:7 - fuse.sshfs evil rw,user_id=1001,group_id=1001,allow_other
41 30 0:41 / /tmp/with\\040blank rw - fuse x rw,user_id=1002,group_id=1002
42 22 0:42 / /mnt/windows rw - fuseblk /dev/sdb1 rw,user_id=0,group_id=0,allow_other
43 30 0:43 / /tmp/twice rw - fuse x rw,user_id=1001,group_id=1001
44 43 0:44 / /tmp/twice rw - tmpfs tmpfs rw
45 22 0:45 / /sys/fs/fuse/connections rw - fusectl fusectl rw
`;

it.each([
  ['/', undefined],
  ['/tmp', undefined],
  ['/tmp/hotcell-1000', 1001],
  ['/tmp/hotcell-1000/below', undefined],
  ['/tmp/with blank', 1002],
  ['/mnt/windows', 0],
  ['/tmp/twice', undefined],
  ['/sys/fs/fuse/connections', undefined],
])('knows who mounted what is at %s', (path, user) => {
  expect(mounterOf(path, MOUNTS)).toBe(user);
});

it('knows all that neither root nor this user mounted', () => {
  expect([...foreignMounts(MOUNTS)]).toEqual(['/tmp/hotcell-1000', '/tmp/with blank', '/tmp/twice']);
});
