import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gvisorRuntime } from '../gvisor/index.ts';
import { imageFolder } from '../python-packages.ts';
import { createContainerUsers, hasOwnUser, OWN_UIDS } from './container-user.ts';

describe('the users of containers', () => {
  it('are all different while they live', () => {
    const users = createContainerUsers('server');
    const uids = new Set(Array.from({ length: OWN_UIDS.count }, () => users.take().uid));
    expect(uids.size).toBe(OWN_UIDS.count);
    expect(Math.min(...uids)).toBe(OWN_UIDS.first);
    expect(Math.max(...uids)).toBe(OWN_UIDS.first + OWN_UIDS.count - 1);
  });

  it('are shared when there are more sandboxes than uids', () => {
    const users = createContainerUsers('server');
    for (let count = 0; count < OWN_UIDS.count; count += 1) users.take();
    expect(users.take().uid).toBeGreaterThanOrEqual(OWN_UIDS.first);
  });

  it('leave those alone that containers of an earlier server have', () => {
    const users = createContainerUsers('server');
    const { uid } = createContainerUsers('server').take();
    users.hold(uid);
    expect(users.take().uid).not.toBe(uid);
  });

  it('can be used again, the one that was free the longest first', () => {
    const users = createContainerUsers('server');
    const first = users.take().uid;
    users.release(first);
    expect(users.take().uid).not.toBe(first);
    const rest = Array.from({ length: OWN_UIDS.count - 1 }, () => users.take().uid);
    expect(rest).toContain(first);
  });

  it('begin elsewhere on another server', () => {
    expect(createContainerUsers('one').take().uid).not.toBe(createContainerUsers('another').take().uid);
  });

  it('have a name in the standard image', () => {
    const dockerfile = readFileSync(join(imageFolder(), 'Dockerfile'), 'utf8');
    expect(dockerfile).toContain(`seq ${OWN_UIDS.first} ${OWN_UIDS.first + OWN_UIDS.count - 1}`);
  });
});

describe('a uid of its own', () => {
  const plain = { mounts: [] };
  it('is for sandboxes of the standard image that hold nothing of the host', () => {
    expect(hasOwnUser(plain, {}, true)).toBe(true);
  });

  it.each([
    [
      'a mount',
      { mounts: [{ source: '/a', target: '/data', readOnly: true, identity: { device: '1', inode: '2' } }] },
      {},
      true,
    ],
    ['a profile’s own workspace', { mounts: [], workspace: '/mnt/data' }, {}, true],
    ['another image', plain, {}, false],
    ['a kernel of its own', plain, gvisorRuntime, true],
  ] as const)('is not for one with %s', (_what, spec, runtime, isStandardImage) => {
    expect(hasOwnUser(spec, runtime, isStandardImage)).toBe(false);
  });
});
