import { expect, it } from 'vitest';
import { gvisorRuntime } from '../gvisor/index.ts';
import { containerNotes } from './container-notes.ts';

const found = { countsSockets: true, folderUid: 1000, epollWatches: 100_000, bindsFolders: true };

it('lists what containers on one kernel share, and which user can look into them', () => {
  const notes = containerNotes({}, found).join(' ');
  expect(notes).toMatch(/run as uid 1000\. The user of this host with such a uid can look into.*pseudo-terminals/);
  expect(notes).not.toContain('cgroup v1');
  expect(containerNotes({}, { ...found, folderUid: 1234 })[0]).toMatch(/your own uid 1234.*code-sandbox as uid 1000/);
});

it('says that sockets are not counted', () => {
  expect(containerNotes({}, { ...found, countsSockets: false }).at(-1)).toContain('cgroup v1');
});

it('has no notes for a runtime with a kernel per sandbox', () => {
  expect(containerNotes(gvisorRuntime, { ...found, countsSockets: false, epollWatches: 5_000_000 })).toEqual([]);
});

it('warns of many epoll watches first', () => {
  const [note] = containerNotes({}, { ...found, epollWatches: 200_001 });
  expect(note).toContain('sudo sysctl -w fs.epoll.max_user_watches=100000');
});

it.each([['docker', {}] as const, ['gvisor', gvisorRuntime] as const])(
  'says that %s sends packages over the channel if the engine cannot see this machine',
  (_name, runtime) => {
    const [note] = containerNotes(runtime, { ...found, bindsFolders: false });
    expect(note).toMatch(/cannot see the files of this machine: installed packages are sent/);
  },
);
