import { CallError, type Caller } from './method.ts';

/**
 * How packages are installed into the sessions of one Hotcell, for the method that programs call. `sessions/` adds each
 * session that may install, and removes it with the session; so no session can install into another.
 */
export interface SessionInstalls {
  /** `session`: the unique id. */
  add(session: string, install: InstallInto): void;
  remove(session: string): void;
  /** Installs into the caller's session, after what it is installing already. Rejects with a CallError if that is not possible. */
  install(caller: Pick<Caller, 'session'>, wanted: WantedInstall): Promise<InstalledPackages>;
}

export type InstallInto = (wanted: WantedInstall) => Promise<InstalledPackages>;

export interface WantedInstall {
  readonly manager: 'pip' | 'npm';
  /** Packages as a program wrote them. SECURITY: unchecked. */
  readonly packages: readonly string[];
  readonly upgrade: boolean;
  readonly signal: AbortSignal;
  /** Called with the current step, for people to read. */
  readonly onProgress: (text: string) => void;
}

export interface InstalledPackages {
  readonly installed: readonly Versioned[];
  readonly present: readonly Versioned[];
  readonly superseded: readonly { readonly name: string; readonly from: string; readonly to: string }[];
  readonly needsReset: boolean;
}

interface Versioned {
  readonly name: string;
  readonly version: string;
}

/** SECURITY: any process can ask, and each installation may start sandboxes. */
const MOST_WAITING = 16;

export function createSessionInstalls(): SessionInstalls {
  const sessions = new Map<string, { readonly install: InstallInto; last: Promise<unknown>; waiting: number }>();
  return {
    add: (session, install) => void sessions.set(session, { install, last: Promise.resolve(), waiting: 0 }),
    remove: (session) => void sessions.delete(session),
    install: async ({ session }, wanted) => {
      const entry = sessions.get(session);
      if (entry === undefined) throw new CallError('refused', 'packages cannot be installed into this session');
      if (entry.waiting >= MOST_WAITING)
        throw new CallError('too-many', `${MOST_WAITING} installations of the session are waiting, which is the limit`);
      entry.waiting += 1;
      const installing = entry.last.then(() => {
        wanted.signal.throwIfAborted();
        return entry.install(wanted);
      });
      entry.last = installing.catch(() => {});
      try {
        return await installing;
      } finally {
        entry.waiting -= 1;
      }
    },
  };
}
