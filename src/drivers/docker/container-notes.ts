import { epollNotes } from '../epoll-notes.ts';
import type { ContainerRuntime } from './container-config.ts';
import { COMMON_USER } from './container-user.ts';

export interface FoundOut {
  /** What sockets hold has a limit. */
  readonly countsSockets: boolean;
  /** Who sandboxes with folders of the host run as. */
  readonly folderUid: number;
  /** The number of epoll watches that one user of the engine's host can have; undefined where that is another host. */
  readonly epollWatches: number | undefined;
}

/** What `hotcell doctor` says about containers beyond their limits. A runtime with a kernel of its own counts for each sandbox by itself. */
export function containerNotes({ ownKernel }: ContainerRuntime, found: FoundOut): string[] {
  if (ownKernel !== undefined) return [];
  const { countsSockets, folderUid, epollWatches } = found;
  const isPerson = folderUid !== COMMON_USER.uid;
  return [
    ...epollNotes(epollWatches, { hasOwnUids: true }),
    isPerson
      ? `Sessions with a writable mount, with a folder that is closed to others or with another image run as your own uid ${folderUid}; those of the profile code-sandbox as uid 1000.`
      : 'Sessions with a writable mount, with a folder that is closed to others, with another image or of the profile code-sandbox run as uid 1000.',
    'The user of this host who has such a uid can look into those sessions and signal them, and what Linux counts for a uid (watches, pipes, waiting signals), one of them can use up for the others and for that user. Other sessions have a uid each. Use gvisor where that matters.',
    'One session can use up the pseudo-terminals that containers and jails of this host have together. Use gvisor where that matters.',
    ...(countsSockets
      ? []
      : [
          'This host has cgroup v1, and Hotcell is not root on it: what a session sends over its loopback and does not read is not counted as its memory.',
        ]),
  ];
}
