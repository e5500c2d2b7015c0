import { expect, test } from 'vitest';
import type { Mount } from '../../sandbox/spec.ts';
import { requireFreeTargets } from './reserved-targets.ts';

const RESERVED = ['/home/me/.local/share/hotcell/python/1', '/opt/hotcell/node/bin/node'];
const mountAt = (target: string): Mount[] => [
  { source: '/srv/x', target, readOnly: true, identity: { device: '1', inode: '2' } },
];

test.each([RESERVED[0]!, `${RESERVED[0]}/bin`, '/home/me/.local', '/home'])(
  'no mount covers Python at %s',
  (target) => {
    expect(() => requireFreeTargets(mountAt(target), RESERVED)).toThrowError(
      expect.objectContaining({ code: 'mount_denied', remedy: expect.any(String) as string }),
    );
  },
);

test.each(['/data', '/home/me/data', '/home/me/.local/share/hotcell/python/10'])('a mount at %s is free', (target) => {
  expect(() => requireFreeTargets(mountAt(target), RESERVED)).not.toThrow();
});
