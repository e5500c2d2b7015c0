import { describe, expect, test } from 'vitest';
import { refusalOf } from './policy.ts';

const policy = { roots: ['/home/me', '/srv/data'], denied: ['/home/me/vault', '/home/me/.ssh'], home: '/home/me' };

describe('a file of the host', () => {
  test.each(['/home/me/a.csv', '/home/me/project/.env', '/srv/data/x/y', '/srv/data/.hidden'])(
    'may be copied: %s',
    (path) => {
      expect(refusalOf(path, policy)).toBeUndefined();
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
    expect(refusalOf(path, policy)).toBeDefined();
  });

  test('that is hidden in the home folder may be copied where a root names its place', () => {
    const named = { ...policy, roots: ['/home/me', '/home/me/.local/share/app'] };
    expect(refusalOf('/home/me/.local/share/app/x.db', named)).toBeUndefined();
    expect(refusalOf('/home/me/.local/share/other', named)).toBeDefined();
  });

  test('that is denied is denied even where a root names it', () => {
    expect(refusalOf('/home/me/.ssh/id_rsa', { ...policy, roots: ['/home/me/.ssh'] })).toBeDefined();
  });
});
