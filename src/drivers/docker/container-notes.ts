import type { ContainerRuntime } from './container-config.ts';

/** What `hotcell doctor` says about containers beyond their limits. A runtime with a kernel of its own counts for each sandbox by itself. */
export function containerNotes({ ownKernel }: ContainerRuntime, countsSockets: boolean): string[] {
  if (ownKernel !== undefined) return [];
  return [
    'Sessions with mounts, with another image or of the profile code-sandbox have uid 1000 in common: what Linux counts for a uid (watches, pipes, waiting signals), one of them can use up for the others. Other sessions have one each.',
    'One session can use up the pseudo-terminals that containers and jails of this host have together. Use gvisor where that matters.',
    ...(countsSockets
      ? []
      : [
          'This host has cgroup v1, and Hotcell is not root on it: what a session sends over its loopback and does not read is not counted as its memory.',
        ]),
  ];
}
