import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gvisorRuntime } from '../gvisor/index.ts';
import { RELAY_UID } from '../pipe-guest/relay.ts';
import { imageFolder } from '../python-packages.ts';
import { areOpenToAll, COMMON_USER, createContainerUsers, folderUser, kindOfUser, OWN_UIDS } from './container-user.ts';

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

  it('skip uids that containers of an earlier server have', () => {
    const users = createContainerUsers('server');
    const { uid } = createContainerUsers('server').take();
    users.hold(uid);
    expect(users.take().uid).not.toBe(uid);
  });

  it('are reused, the one that was free the longest first', () => {
    const users = createContainerUsers('server');
    const first = users.take().uid;
    users.release(first);
    expect(users.take().uid).not.toBe(first);
    const rest = Array.from({ length: OWN_UIDS.count - 1 }, () => users.take().uid);
    expect(rest).toContain(first);
  });

  it('start at another uid on another server', () => {
    expect(createContainerUsers('one').take().uid).not.toBe(createContainerUsers('another').take().uid);
  });

  it('have a name in the standard image', () => {
    const dockerfile = readFileSync(join(imageFolder(), 'Dockerfile'), 'utf8');
    expect(dockerfile).toContain(`seq ${OWN_UIDS.first} ${OWN_UIDS.first + OWN_UIDS.count - 1}`);
  });
});

describe('whose uid a sandbox has', () => {
  const mount = { source: '/a', target: '/data', readOnly: true, identity: { device: '1', inode: '2' } };
  const plain = { mounts: [] };
  const reading = { mounts: [mount] };
  const writing = { mounts: [mount, { ...mount, readOnly: false }] };
  const known = { isStandardImage: true, foldersAreOpen: true };

  it.each([
    ['own', 'the standard image', plain, {}, known],
    ['own', 'folders to read that are open to all', reading, {}, known],
    ['folders', 'a folder to write to', writing, {}, known],
    ['folders', 'folders that are closed to others', reading, {}, { ...known, foldersAreOpen: false }],
    ['folders', 'another image', plain, {}, { ...known, isStandardImage: false }],
    ['common', 'a workspace that a profile promises', { mounts: [], workspace: '/mnt/data' }, {}, known],
    ['common', 'a kernel of its own', plain, gvisorRuntime, known],
    ['folders', 'a kernel of its own, and folders', reading, gvisorRuntime, known],
  ] as const)('is of the kind %s with %s', (...[kind, , spec, runtime, rest]) => {
    expect(kindOfUser(spec, runtime, rest)).toBe(kind);
  });
});

describe('the user of sandboxes with folders', () => {
  const ann = { uid: 1234, gid: 100 };
  const here = { platform: 'linux', self: ann, socketPath: '/var/run/docker.sock' } as const;

  it('is the one that Hotcell runs as', () => {
    expect(folderUser(here)).toBe(ann);
  });

  it.each([
    ['Hotcell is root', { ...here, self: { uid: 0, gid: 0 } }],
    ['the engine is another machine', { ...here, socketPath: undefined }],
    ['the engine runs without root', { ...here, socketPath: '/run/user/1234/docker.sock' }],
    ['the engine is in a virtual machine', { ...here, platform: 'darwin' }],
    ['the system has no uids', { ...here, platform: 'win32', self: undefined }],
    ['it is the user of relays, which the guest obeys', { ...here, self: { uid: RELAY_UID, gid: 1 } }],
    ['it is among those of other sandboxes', { ...here, self: { uid: OWN_UIDS.first, gid: 1 } }],
  ] as const)('is the common one if %s', (_where, surroundings) => {
    expect(folderUser(surroundings)).toBe(COMMON_USER);
  });

  it('is never one that speaks to guests', () => {
    expect(RELAY_UID).not.toBe(COMMON_USER.uid);
    expect(RELAY_UID).toBeGreaterThanOrEqual(OWN_UIDS.first + OWN_UIDS.count);
  });
});

describe('folders', () => {
  it.each([
    [0o755, true],
    [0o775, true],
    [0o750, false],
    [0o711, false],
    [0o754, false],
  ])('of mode %o are open to all: %s', async (mode, isOpen) => {
    const source = await mkdtemp(join(tmpdir(), 'hotcell-open-'));
    try {
      await chmod(source, mode);
      expect(await areOpenToAll([{ source }])).toBe(isOpen);
    } finally {
      await rm(source, { recursive: true });
    }
  });

  it('that cannot be read are not open', async () => {
    expect(await areOpenToAll([{ source: '/not/there' }])).toBe(false);
    expect(await areOpenToAll([])).toBe(true);
  });
});
