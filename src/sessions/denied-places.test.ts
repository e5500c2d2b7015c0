import { describe, expect, it } from 'vitest';
import { startCost } from '../../test/support/thread-time.ts';
import { mountTable } from '../lib/mount-table.ts';
import { judgeOf } from './denied-places.ts';

const line = (id: number, device: string, root: string, point: string) =>
  `${id} 20 ${device} ${root} ${point} rw - ext4 /dev/x rw`;
const ROOT = '20 1 8:1 / / rw - ext4 /dev/x rw';

/** The place that keeps a folder from being mounted. */
function against(source: string, denied: string[], mounts: string[], readOnly = true): string | undefined {
  const inUse = { secret: () => [], relied: () => ['/opt/hotcell'] };
  return judgeOf({ denied, inUse }, mountTable([ROOT, ...mounts].join('\n')))({ source, readOnly })?.place;
}

describe('a denied folder that the host shows at a second path', () => {
  const denied = ['/home/bob/.ssh'];
  it.each<[string, string, string[]]>([
    ['the second path itself', '/data/home', [line(21, '8:1', '/data/home', '/home')]],
    ['a folder above the second path', '/data', [line(21, '8:1', '/data/home', '/home')]],
    ['a folder inside it', '/data/home/bob/.ssh/x', [line(21, '8:1', '/data/home', '/home')]],
    ['the denied folder bound elsewhere', '/srv/keys', [line(21, '8:1', '/home/bob/.ssh', '/srv/keys')]],
    ['a folder above that', '/srv', [line(21, '8:1', '/home/bob/.ssh', '/srv/keys')]],
    ['a part of the denied folder, bound elsewhere', '/srv', [line(21, '8:1', '/home/bob/.ssh/sub', '/srv/part')]],
    ['another folder that is bound into the denied one', '/srv', [line(21, '8:1', '/srv/keys', '/home/bob/.ssh/more')]],
    ['a device that is mounted twice', '/mnt', [line(21, '8:2', '/', '/home'), line(22, '8:2', '/', '/mnt/disk')]],
    [
      'a subvolume and its whole file system',
      '/top',
      [line(21, '0:9', '/@home', '/home'), line(22, '0:9', '/', '/top')],
    ],
  ])('is recognised: %s', (_, source, mounts) => {
    expect(against(source, denied, mounts)).toBe('/home/bob/.ssh');
    expect(against(source, denied, [])).toBeUndefined(); // the same paths, where nothing is mounted
  });

  it('keeps nothing beside it from being mounted', () => {
    const mounts = [line(21, '8:1', '/data/home', '/home'), line(22, '8:1', '/home2/alice', '/srv/alice')];
    for (const source of ['/home/bob/work', '/data/home/alice', '/data/other', '/srv', '/home2', '/srv/alice'])
      expect(against(source, denied, mounts)).toBeUndefined();
  });
});

it('a folder that Hotcell relies on is not mounted writable from above its second path', () => {
  const mounts = [line(21, '8:1', '/data/opt', '/opt')];
  expect(against('/data', [], mounts, false)).toBe('/opt/hotcell');
  expect(against('/data', [], mounts, true)).toBeUndefined();
});

describe('ordinary projects are mounted', () => {
  const system = ['/proc', '/sys', '/dev', '/run', '/etc', '/home/me/.ssh'];
  it.each<[string, string[]]>([
    [
      'in a container',
      [line(21, '8:1', '/var/lib/docker/containers/c/hosts', '/etc/hosts'), line(22, '8:1', '/home/me/p', '/w')],
    ],
    [
      'in a toolbox, which shows the host below /run',
      [line(21, '8:5', '/', '/run/host'), line(22, '8:5', '/home/me/p', '/w')],
    ],
    [
      'on a disk that the desktop has at /run/media, too',
      [line(21, '8:6', '/', '/run/media/disk'), line(22, '8:6', '/', '/w')],
    ],
    ['on a subvolume', [line(21, '0:9', '/@', '/'), line(22, '0:9', '/@work', '/w')]],
  ])('%s', (_, mounts) => {
    for (const source of ['/w', '/w/p', '/home/me/p']) expect(against(source, system, mounts)).toBeUndefined();
    for (const source of ['/run/host/x', '/run/media/disk/x', '/etc'])
      expect(against(source, system, mounts)).toBeDefined();
  });
});

it('a check of ten mounts takes little time with 1,000 mounts and 1,000 users on the host', () => {
  const mounts = Array.from({ length: 1_000 }, (_, index) =>
    line(100 + index, `0:${index + 50}`, '/', `/var/lib/c/${index}/m`),
  );
  const denied = Array.from({ length: 8_000 }, (_, index) => `/home/user${index >> 3}/.secret${index & 7}`);
  const table = mountTable([ROOT, ...mounts].join('\n'));
  const cost = startCost();
  const judge = judgeOf({ denied }, table);
  for (let index = 0; index < 10; index += 1)
    expect(judge({ source: `/srv/project${index}`, readOnly: false })).toBeUndefined();
  expect(cost()).toBeLessThan(250); // comparing each with each takes seconds
});

it('a denied place that a mount covers is denied at the second path of what is covered', () => {
  const bound = line(21, '8:1', '/data/home', '/home');
  const cover = '22 21 0:40 / /home ro - tmpfs inaccessible ro';
  for (const mounts of [[bound], [bound, cover]])
    for (const source of ['/data', '/data/home/alice', '/data/home/alice/.ssh'])
      expect(against(source, ['/home/alice/.ssh'], mounts), source).toBe('/home/alice/.ssh');
});
