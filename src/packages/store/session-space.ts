import { HotcellError } from '../../errors/hotcell-error.ts';
import type { Manifest } from './manifest.ts';

/** The space on the disk of the host that the layers of each session take beside the store. */
export interface SessionSpace {
  /** Counts a layer that is about to be added to a session, or throws `install_failed` if it is too much. */
  add(session: SpaceOf, layer: Pick<Manifest, 'bytes' | 'occupiedBytes'>): void;
  forget(session: SpaceOf): void;
}

export interface SpaceOf {
  /** The unique id. */
  readonly session: string;
  readonly owner: string;
}

/**
 * SECURITY: the files of a layer are hard links to the store, but its folders are made for each that a session gets. Two versions in turn of a package with a hundred
 * thousand folders, in all sessions of an owner, would fill the disk of the host, which neither the limits of the store nor those of a session's own disk concern.
 */
export function createSessionSpace(most: { readonly session: number; readonly owner: number }): SessionSpace {
  const sessions = new Map<string, number>();
  const owners = new Map<string, number>();
  return {
    add: ({ session, owner }, { bytes, occupiedBytes }) => {
      const folderBytes = occupiedBytes - bytes;
      const ofSession = (sessions.get(session) ?? 0) + folderBytes;
      const ofOwner = (owners.get(owner) ?? 0) + folderBytes;
      if (ofSession > most.session)
        throw tooMany('the session', 'Open a new session, and install there what you need in one call.');
      if (ofOwner > most.owner) throw tooMany('your sessions', 'Close sessions with packages.');
      sessions.set(session, ofSession);
      owners.set(owner, ofOwner);
    },
    forget: ({ session, owner }) => {
      const left = (owners.get(owner) ?? 0) - (sessions.get(session) ?? 0);
      sessions.delete(session);
      if (left > 0) owners.set(owner, left);
      else owners.delete(owner);
    },
  };
}

function tooMany(whose: string, remedy: string): HotcellError {
  const message = `the packages of ${whose} have more folders than they may have`;
  return new HotcellError('install_failed', message, { remedy });
}
