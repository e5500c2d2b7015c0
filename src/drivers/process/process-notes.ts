import { epollNotes } from '../epoll-notes.ts';
import type { ProcessShape } from './shape.ts';

export interface JailFacts {
  readonly shape: ProcessShape;
  readonly isRoot: boolean;
  /** The maximum number of epoll watches per user of the host. */
  readonly epollWatches: number | undefined;
}

/**
 * Notes of `hotcell doctor` about jails beyond their limits: what neighbours can see of each other, and which level
 * prevents it.
 */
export function processNotes({ shape, isRoot, epollWatches }: JailFacts): string[] {
  return [
    ...epollNotes(epollWatches, { hasOwnUids: isRoot }),
    "Jails share the host's files in /usr: code inside can see when a program of the host or of a neighbour opens one (inotify), and can signal to neighbours by file locks. Use docker or gvisor where that matters.",
    ...(isRoot
      ? [
          'Sessions with a writable mount share one uid. Linux counts watches, pipes and pending signals per uid, so one session can use them up for the others.',
        ]
      : [
          'Without root all sessions run as your uid. Linux counts watches, pipes and pending signals per uid, so one session can use them up for the others and for you.',
        ]),
    ...(shape === 'single'
      ? ['One session can use up the pseudo-terminals that all containers and jails of this host share.']
      : []),
  ];
}
