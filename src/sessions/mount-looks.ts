import { readMountinfo } from '../lib/mountinfo.ts';

/** Repeated looks at the host's mounts, the same ones for everybody who needs them. */
export interface MountLooks {
  /** Looks now, every few milliseconds, and at the end. `isSame` is called with the mounts, whenever they have changed. */
  begin(isSame: (mountinfo: string | undefined) => boolean): Looking;
}

export interface Looking {
  stop(): void;
  /** Whether `isSame` was true at every look. */
  wereAllSame(): boolean;
}

/** The time between two looks. */
export const LOOK_EVERY_MS = 10;

/**
 * SECURITY: a file system that the host has mounted only while a sandbox was created is in that sandbox, and the host's
 * mounts before and after are the same. The table of mounts may be long and callers choose how many folders are compared
 * with it, so it is read once for all, and compared only if its text is another.
 */
export function createMountLooks(read = readMountinfo): MountLooks {
  const checks = new Set<(text: string | undefined) => void>();
  let last: string | undefined;
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    const text = read();
    if (text === last) return;
    last = text;
    for (const check of checks) check(text);
  }

  return {
    begin(isSame) {
      let wereAllSame = true;
      const check = (text: string | undefined) => {
        wereAllSame &&= isSame(text);
      };
      look();
      check(last);
      checks.add(check);
      timer ??= setInterval(look, LOOK_EVERY_MS).unref();
      return {
        stop: () => {
          look();
          checks.delete(check);
          if (checks.size > 0) return;
          clearInterval(timer);
          timer = undefined;
        },
        wereAllSame: () => wereAllSame,
      };
    },
  };
}
