import { expect, it } from 'vitest';
import { processNotes } from './process-notes.ts';

it('names what neighbours can see of each other, and the levels where they cannot', () => {
  expect(processNotes({ shape: 'shared', isRoot: true })[0]).toMatch(/inotify.*locks.*docker or gvisor/);
});

it('says whose uid sessions have', () => {
  expect(processNotes({ shape: 'shared', isRoot: true })[1]).toContain('writable mount');
  expect(processNotes({ shape: 'shared', isRoot: false })[1]).toContain('your uid');
});

it('warns of pseudo-terminals where they have no limit', () => {
  expect(processNotes({ shape: 'single', isRoot: true }).at(-1)).toContain('pseudo-terminals');
  expect(processNotes({ shape: 'shared', isRoot: true }).join()).not.toContain('pseudo-terminals');
});
