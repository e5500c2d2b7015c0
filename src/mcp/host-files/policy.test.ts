import { describe, expect, test } from 'vitest';
import { mountTable } from '../../lib/mount-table.ts';
import { hostPlatform } from './platform.ts';
import { hostRules } from './policy.ts';

const policy = {
  roots: ['/home/me', '/srv/data'],
  denied: ['/home/me/vault', '/home/me/.ssh'],
  homes: ['/home/me'],
  platform: hostPlatform('linux'),
};

describe('a file of the host', () => {
  test.each(['/home/me/a.csv', '/home/me/project/.env', '/srv/data/x/y', '/srv/data/.hidden'])(
    'may be copied: %s',
    (path) => {
      expect(hostRules(policy)(path)).toBeUndefined();
    },
  );

  test.each([
    '/home/me/vault',
    '/home/me/vault/key',
    '/home/me/.ssh/id_rsa',
    '/home/me/.netrc',
    '/home/me/.config/gh/hosts.yml',
    '/home/me2/a.csv',
    '/srv/database',
    '/etc/passwd',
    '/',
  ])('may not: %s', (path) => {
    expect(hostRules(policy)(path)).toBeDefined();
  });

  test('that is hidden in the home folder may be copied if a root names its folder', () => {
    const named = { ...policy, roots: ['/home/me', '/home/me/.local/share/app'] };
    expect(hostRules(named)('/home/me/.local/share/app/x.db')).toBeUndefined();
    expect(hostRules(named)('/home/me/.local/share/other')).toBeDefined();
  });

  test("that is hidden in the home of another user may not, where root's server could read it", () => {
    const all = { ...policy, roots: ['/home', '/home/bob/.app'], homes: ['/root', '/', '/home/bob', '/home/eve'] };
    expect(hostRules(all)('/home/eve/.config/gh/hosts.yml')).toBeDefined();
    expect(hostRules(all)('/home/bob/.app/x')).toBeUndefined();
    expect(hostRules(all)('/home/eve/a.csv')).toBeUndefined();
  });

  test('that is denied is denied even if a root names it', () => {
    expect(hostRules({ ...policy, roots: ['/home/me/.ssh'] })('/home/me/.ssh/id_rsa')).toBeDefined();
  });
});

describe('a file in a private folder of a home that is a mount', () => {
  const line = (id: number, device: string, at: string) => `${id} 20 ${device} ${at} rw - ext4 /dev/x rw`;
  const table = mountTable(
    [
      '20 1 8:1 / / rw - ext4 /dev/x rw',
      line(21, '8:2', '/ /home/me/.config'),
      line(22, '8:2', '/ /srv/data/second'),
      line(23, '8:3', '/ /home/me/disk'),
      line(24, '8:3', '/ /srv/data/disk'),
      line(25, '8:1', '/home /home/me/.chroot/home'),
    ].join('\n'),
  );
  test('may not be copied by a second path either, unless a root names it', () => {
    for (const path of ['/home/me/.config/token', '/srv/data/second/token', '/srv/data/second'])
      expect(hostRules(policy, table)(path), path).toBeDefined();
    const named = { ...policy, roots: ['/srv/data/second'] };
    expect(hostRules(named, table)('/srv/data/second/token')).toBeUndefined();
  });

  test('hides no other mount of the home, nor the home that is mounted in itself', () => {
    for (const path of ['/home/me/a.csv', '/home/me/disk/x', '/srv/data/disk/x'])
      expect(hostRules(policy, table)(path), path).toBeUndefined();
  });
});

describe('a file on Windows', () => {
  const windows = {
    roots: ['C:\\Users\\me', 'D:\\data'],
    denied: ['C:\\Users\\me\\vault', 'C:\\Users\\me\\.ssh'],
    homes: ['C:\\Users\\me'],
    platform: hostPlatform('win32'),
  };
  test.each([
    'C:\\Users\\me\\a.csv',
    'c:\\users\\ME\\Documents\\x.csv',
    'D:\\data\\.hidden\\y',
    'D:\\data\\AppData\\y',
  ])('may be copied: %s', (path) => {
    expect(hostRules(windows)(path)).toBeUndefined();
  });

  test.each([
    'C:\\Users\\me\\vault\\key',
    'c:\\users\\me\\VAULT\\key',
    'C:\\Users\\me\\.SSH\\id_rsa',
    'C:\\Users\\me\\.netrc',
    'C:\\Users\\me\\AppData\\Roaming\\x',
    'C:\\Users\\me\\appdata\\Local\\x',
    'C:\\Users\\me\\NTUSER.DAT',
    'C:\\Users\\me2\\a.csv',
    'C:\\Windows\\win.ini',
    'D:\\database\\x',
    'E:\\Users\\me\\a.csv',
    '\\\\server\\Users\\me\\a.csv',
  ])('may not: %s', (path) => {
    expect(hostRules(windows)(path)).toBeDefined();
  });
});

test('on a Mac, the files of programs in Library are hidden too', () => {
  const mac = { roots: ['/Users/me'], denied: [], homes: ['/Users/me'], platform: hostPlatform('darwin') };
  expect(hostRules(mac)('/Users/me/Library/Keychains/x')).toBeDefined();
  expect(hostRules(mac)('/Users/me/work/Library/x')).toBeUndefined();
  expect(hostRules({ ...mac, platform: hostPlatform('linux') })('/Users/me/Library/x')).toBeUndefined();
});
