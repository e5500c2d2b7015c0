import { expect, it } from 'vitest';
import { mountTable } from './mount-table.ts';

const line = (id: number, parent: number, device: string, at: `${string} ${string}`) =>
  `${id} ${parent} ${device} ${at} rw,relatime shared:${id} - ext4 /dev/x rw`;

/** A host with a bind mount, a part of one below it, a device that is mounted twice, and a covered mount. */
const HOST = [
  line(20, 1, '8:1', '/ /'),
  line(21, 20, '8:1', '/data/home /home'),
  line(22, 21, '8:2', '/ /home/bob/disk'),
  line(23, 20, '8:2', '/ /mnt/disk'),
  line(24, 20, '8:1', '/srv/with\\040blank /srv/b\\040b'),
  line(25, 20, '0:30', '/ /stack'),
  line(26, 25, '0:31', '/ /stack/in'),
  line(27, 25, '0:32', '/ /stack'),
].join('\n');

it.each([
  ['/', '@8:1'],
  ['/data/home/bob', '@8:1/data/home/bob'],
  ['/home', '@8:1/data/home'],
  ['/home/bob/.ssh', '@8:1/data/home/bob/.ssh'],
  ['/homes', '@8:1/homes'],
  ['/home/bob/disk/x', '@8:2/x'],
  ['/mnt/disk/x', '@8:2/x'],
  ['/srv/b b/c', '@8:1/srv/with blank/c'],
  ['/stack', '@0:32'],
  ['/stack/in/x', '@0:32/in/x'], // the mount that covers `/stack` covers the one at `/stack/in`, too
])('locates %s', (path, location) => {
  expect(mountTable(HOST).locate(path)).toBe(location);
});

it('locates a path on all mounts on its way, also where another covers them', () => {
  expect(mountTable(HOST).locations('/stack/in/x')).toEqual(['@0:32/in/x', '@8:1/stack/in/x', '@0:30/in/x', '@0:31/x']);
  expect(mountTable(HOST).locations('/home')).toEqual(['@8:1/data/home', '@8:1/home']);
  expect(mountTable(HOST).locations('/')).toEqual(['@8:1']);
});

it('locates subvolumes of btrfs by their path in the file system', () => {
  const btrfs = mountTable([line(20, 1, '0:25', '/@ /'), line(21, 20, '0:25', '/@home /home')].join('\n'));
  expect(btrfs.locate('/home/bob')).toBe('@0:25/@home/bob');
  expect(btrfs.locate('/var')).toBe('@0:25/@/var');
});

it('locates paths where the root of the process is no mount point, as in a chroot', () => {
  const chroot = mountTable(line(30, 20, '8:2', '/ /data'));
  expect(chroot.locate('/data/x')).toBe('@8:2/x');
  expect(chroot.locate('/home')).toBe('/home');
});

it('finds what is mounted below a folder, but not at it', () => {
  const table = mountTable(HOST);
  expect(table.below('/home')).toEqual(['@8:2']);
  expect(table.below('/home/bob/disk')).toEqual([]);
  expect(table.below('/mnt')).toEqual(['@8:2']);
  expect(table.below('/')).toHaveLength(7);
});

it('takes paths as they are where the system tells no mounts', () => {
  const table = mountTable(undefined);
  if (process.platform !== 'darwin') expect(table.locate('/home/bob')).toBe('/home/bob');
  else expect(table.locate('/System/Volumes/Data/Users/bob')).toBe(table.locate('/Users/bob'));
  expect(table.below('/home')).toEqual([]);
});
