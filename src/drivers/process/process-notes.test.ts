import { expect, it } from 'vitest';
import { processNotes } from './process-notes.ts';

it('names what neighbours can see of each other, and the levels where they cannot', () => {
  expect(processNotes({ shape: 'shared', isRoot: true, epollWatches: 100_000 })[0]).toMatch(
    /inotify.*locks.*docker or gvisor/,
  );
});

it('says which uid sessions have', () => {
  expect(processNotes({ shape: 'shared', isRoot: true, epollWatches: 100_000 })[1]).toContain('writable mount');
  expect(processNotes({ shape: 'shared', isRoot: false, epollWatches: 100_000 })[1]).toContain('your uid');
});

it('warns of pseudo-terminals if they have no limit', () => {
  expect(processNotes({ shape: 'single', isRoot: true, epollWatches: 100_000 }).at(-1)).toContain('pseudo-terminals');
  expect(processNotes({ shape: 'shared', isRoot: true, epollWatches: 100_000 }).join()).not.toContain(
    'pseudo-terminals',
  );
});

it('warns of many epoll watches first', () => {
  const [note] = processNotes({ shape: 'shared', isRoot: true, epollWatches: 200_001 });
  expect(note).toContain('sudo sysctl -w fs.epoll.max_user_watches=100000');
});
