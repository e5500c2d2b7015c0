import { expect, it } from 'vitest';
import { gvisorRuntime } from '../gvisor/index.ts';
import { containerNotes } from './container-notes.ts';

it('says what containers on one kernel share', () => {
  expect(containerNotes({}, true).join(' ')).toMatch(/uid 1000 in common.*pseudo-terminals/);
  expect(containerNotes({}, true).join(' ')).not.toContain('cgroup v1');
});

it('says where sockets are not counted', () => {
  expect(containerNotes({}, false).at(-1)).toContain('cgroup v1');
});

it('has nothing to say of a kernel for each sandbox', () => {
  expect(containerNotes(gvisorRuntime, false)).toEqual([]);
});
