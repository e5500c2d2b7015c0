import { afterEach, expect, test, vi } from 'vitest';
import { deferred } from '../lib/deferred.ts';
import { createInstaller, type InstallerOptions, type InstallSession } from './installer.ts';

afterEach(() => void vi.useRealTimers());

const BASE = {
  ...{ python: '/usr/bin/python3', version: '3.11', abi: 'cp311', libc: 'glibc-2.36', machine: 'x86_64' },
  packages: {},
};

/** An installer whose store knows what sandboxes are like, and is empty otherwise. Its builders begin and never open. */
function installerOf(opened: (owner: string, signal: AbortSignal | undefined) => Promise<never>) {
  return createInstaller({
    root: '/nonexistent',
    identify: async () => 'identity',
    onStored: () => {},
    layerLimits: { bytes: 1e9, entries: 1e5 },
    room: async () => 1e9,
    bases: { find: async () => JSON.stringify(BASE), keep: async () => {} },
    registries: {
      python: async () => ({ index: undefined, extraIndexes: [], findLinks: [] }),
      hosts: async () => [],
      hostsOfProjects: async () => [],
    },
    layers: { find: async () => undefined },
    locks: { find: async () => undefined, keep: async () => {} },
    open: ({ owner }: { owner: string }, signal?: AbortSignal) => opened(owner, signal),
  } as unknown as InstallerOptions);
}

/** A session whose guest answers no request for a file. `onFile` is called for each. */
function sessionOf(owner: string, onFile: () => void = () => {}, ended = new Promise<void>(() => {})): InstallSession {
  const connection = {
    openStream: () => ({ id: 2, release: () => {} }),
    request: () => {
      onFile();
      return new Promise<never>(() => {});
    },
  };
  return {
    ...{ uniqueId: owner, spec: { owner, image: undefined }, isolation: { driver: 'process' }, ended },
    installed: { all: () => [], requireRoom: () => {}, add: async () => {} },
    use: (work: (live: unknown) => Promise<unknown>) => work({ connection }),
  } as never;
}

const LOCAL = { packages: ['./mine'] };

test('guests that do not answer hold no place of the server once their installations are aborted', async () => {
  const installer = installerOf(async () => Promise.reject(new Error('no builders')));
  const reading = vi.fn();
  const held = ['mallory', 'eve', 'trudy', 'oscar'].map((owner) => {
    const stop = new AbortController();
    return { stop, done: installer.install(sessionOf(owner, reading), LOCAL, { signal: stop.signal }) };
  });
  await expect.poll(() => reading.mock.calls.length).toBe(4);
  const ofAlice = vi.fn();
  const alice = new AbortController();
  const waiting = installer.install(sessionOf('alice', ofAlice), LOCAL, { signal: alice.signal });
  const gone = new Error('gone');
  for (const { stop } of held) stop.abort(gone);
  for (const { done } of held) await expect(done).rejects.toBe(gone);
  await expect.poll(() => ofAlice.mock.calls.length).toBe(1);
  alice.abort(gone);
  await expect(waiting).rejects.toBe(gone);
});

test('the end of a session frees the place as well', async () => {
  const installer = installerOf(async () => Promise.reject(new Error('no builders')));
  const ended = deferred<void>();
  const reading = deferred<void>();
  const installing = installer.install(sessionOf('mallory', reading.resolve, ended.promise), LOCAL);
  await reading.promise;
  ended.resolve();
  await expect(installing).rejects.toMatchObject({ code: 'session_closed' });
});

test('work that an abort does not end keeps its place for ten seconds', async () => {
  vi.useFakeTimers();
  const opened = vi.fn((_owner: string, _signal: AbortSignal | undefined) => new Promise<never>(() => {}));
  const installer = installerOf(opened);
  const owners = ['mallory', 'eve', 'trudy', 'oscar'];
  const stop = new AbortController();
  const done = owners.map((owner) =>
    installer.install(sessionOf(owner), { packages: ['six'] }, { signal: stop.signal }).catch(() => 'stopped'),
  );
  await vi.advanceTimersByTimeAsync(1);
  expect(opened.mock.calls.map(([owner]) => owner).filter((owner) => owners.includes(owner)).length).toBeGreaterThan(3);
  opened.mockClear();
  stop.abort();
  expect(await Promise.all(done)).toEqual(owners.map(() => 'stopped'));
  void installer.install(sessionOf('alice'), { packages: ['six'] }).catch(() => {});
  await vi.advanceTimersByTimeAsync(9_000);
  expect(opened).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(opened).toHaveBeenCalled();
});
