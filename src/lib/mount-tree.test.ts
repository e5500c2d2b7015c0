import { expect, it } from 'vitest';
import { mountTreeOf } from './mount-tree.ts';

const ROOT = '20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw';
const SRV = '30 20 8:2 / /srv rw,relatime shared:2 - ext4 /dev/sda2 rw';
const VOLUME = '40 30 0:50 / /srv/job/vol rw,relatime - tmpfs tmpfs rw';
const BESIDE = '50 30 0:51 / /srv/job2 rw,relatime - tmpfs tmpfs rw';

const treeOf = (folder: string, ...lines: string[]) => mountTreeOf([folder], () => `${lines.join('\n')}\n`);
const before = treeOf('/srv/job', ROOT, SRV, VOLUME);

it.each([
  ['was unmounted', [ROOT, SRV]],
  ['is another one', [ROOT, SRV, VOLUME.replace('0:50', '0:52')]],
  ['is another folder of the same device', [ROOT, SRV, VOLUME.replace('/ /srv', '/b /srv')]],
  ['is read-only now', [ROOT, SRV, VOLUME.replace('rw,relatime', 'ro,relatime')]],
  ['is covered by another one', [ROOT, SRV, VOLUME, '60 40 0:52 / /srv/job/vol rw - tmpfs tmpfs rw']],
])('changes if the file system below the folder %s', (_, lines) => {
  expect(treeOf('/srv/job', ...lines)).not.toBe(before);
});

it('changes if the file system of the folder is read-only now', () => {
  expect(treeOf('/srv/job', ROOT, SRV.replace('rw,relatime', 'ro,relatime'), VOLUME)).not.toBe(before);
});

it('changes if the folder itself has become a mount point', () => {
  const bind = '60 30 8:2 /job /srv/job ro,relatime - ext4 /dev/sda2 rw';
  expect(treeOf('/srv/job', ROOT, SRV, VOLUME, bind)).not.toBe(before);
});

it('is the same whatever is mounted elsewhere', () => {
  expect(treeOf('/srv/job', ROOT, SRV, BESIDE, VOLUME)).toBe(before);
});

it('finds mount points with blanks in their names', () => {
  const blank = '60 30 0:52 / /srv/my\\040job/vol rw - tmpfs tmpfs rw';
  expect(treeOf('/srv/my job', ROOT, SRV, blank)).not.toBe(treeOf('/srv/my job', ROOT, SRV));
});

it('is unknown where the system tells no mounts, unless there are no folders', () => {
  expect(mountTreeOf(['/srv/job'], () => undefined)).toBeUndefined();
  expect(mountTreeOf([], () => undefined)).toBe('');
});
