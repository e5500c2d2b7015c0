import { epollNotes } from '../epoll-notes.ts';
import type { ContainerRuntime } from './container-config.ts';
import { COMMON_USER } from './container-user.ts';

export interface FoundOut {
  /** Whether the memory of sockets is limited. */
  readonly countsSockets: boolean;
  /** The uid of sandboxes with folders of the host. */
  readonly folderUid: number;
  /** The maximum number of epoll watches per user of the engine's host; undefined if the engine is on another host. */
  readonly epollWatches: number | undefined;
  /** Whether the engine binds folders of this machine. */
  readonly bindsFolders: boolean;
}

/** Notes of `hotcell doctor` about containers beyond their limits. */
export function containerNotes(runtime: ContainerRuntime, found: FoundOut): string[] {
  return [...(found.bindsFolders ? [] : [SENT_LAYERS]), ...notesOnKernel(runtime, found)];
}

const SENT_LAYERS =
  'The engine cannot see the files of this machine: installed packages are sent to each session and count as its memory.';

/** There are none for a runtime with its own kernel, which counts per sandbox. */
function notesOnKernel({ ownKernel }: ContainerRuntime, found: FoundOut): string[] {
  if (ownKernel !== undefined) return [];
  const { countsSockets, folderUid, epollWatches } = found;
  const isPerson = folderUid !== COMMON_USER.uid;
  return [
    ...epollNotes(epollWatches, { hasOwnUids: true }),
    isPerson
      ? `Sessions with a writable mount, with a folder that other users cannot read or with another image run as your own uid ${folderUid}; those of the profile code-sandbox as uid 1000.`
      : 'Sessions with a writable mount, with a folder that other users cannot read, with another image or of the profile code-sandbox run as uid 1000.',
    'The user of this host with such a uid can look into those sessions and signal them. Linux counts watches, pipes and pending signals per uid, so one of these sessions can use them up for the others and for that user. Other sessions have a uid each. Use gvisor where that matters.',
    'One session can use up the pseudo-terminals that all containers and jails of this host share. Use gvisor where that matters.',
    ...(countsSockets
      ? []
      : [
          'This host has cgroup v1, and Hotcell does not run as root: unread data in loopback sockets of a session is not counted as its memory.',
        ]),
  ];
}
