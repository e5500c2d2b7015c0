import { epollNotes } from '../epoll-notes.ts';
import type { ProcessShape } from './shape.ts';

export interface JailFacts {
  readonly shape: ProcessShape;
  readonly isRoot: boolean;
  /** The number of epoll watches that one user of the host can have. */
  readonly epollWatches: number | undefined;
}

/** What `hotcell doctor` says about jails beyond their limits: what neighbours can see of each other, and where that ends. */
export function processNotes({ shape, isRoot, epollWatches }: JailFacts): string[] {
  return [
    ...epollNotes(epollWatches, { hasOwnUids: isRoot }),
    'Jails show the files of /usr themselves: code inside can see when a program of the host or of a neighbour opens one (inotify), and pass signs on by locks. Use docker or gvisor where that matters.',
    ...(isRoot
      ? [
          'Sessions with a writable mount have one uid in common: what Linux counts for a uid (watches, pipes, waiting signals), one of them can use up for the others.',
        ]
      : [
          'Without root all sessions have your uid: what Linux counts for a uid (watches, pipes, waiting signals), one of them can use up for the others and for you.',
        ]),
    ...(shape === 'single'
      ? ['One session can use up the pseudo-terminals that containers and jails of this host have together.']
      : []),
  ];
}
