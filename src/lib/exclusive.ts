import { createHash, randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAtMostSync } from './read-at-most.ts';

/**
 * Runs `work` while no other process on this machine holds the same lock file. The lock of a dead process is taken
 * over.
 */
export async function exclusively<T>(
  lockFile: string,
  work: () => Promise<T>,
  options: { signal?: AbortSignal | undefined; onWait?: (holderPid: number) => void } = {},
): Promise<T> {
  while (!(await tryTake(lockFile))) {
    const text = await readLock(lockFile);
    const holder = text === undefined ? undefined : parseHolder(text);
    if (text !== undefined && holder && !isAlive(holder)) {
      await removeStale(lockFile, text, options.signal);
      continue;
    }
    if (holder) options.onWait?.(holder.pid);
    await sleep(200, undefined, options.signal ? { signal: options.signal } : {});
  }
  try {
    return await work();
  } finally {
    await rm(lockFile, { force: true });
  }
}

/**
 * Removes a stale lock. Only the holder of the takeover lock for this very text may do so, after checking again.
 * Otherwise two processes would see the same dead holder, and the slower one would remove the fresh lock of the faster.
 * A process that dies during the takeover leaves a stale lock like any other.
 */
async function removeStale(lockFile: string, text: string, signal: AbortSignal | undefined): Promise<void> {
  const remove = async () => {
    if ((await readLock(lockFile)) === text) await rm(lockFile, { force: true });
  };
  await exclusively(takeoverOf(lockFile, text), remove, { signal });
}

/** The lock file for removing a stale lock with that text. */
export function takeoverOf(lockFile: string, text: string): string {
  return `${lockFile}.${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}

interface Holder {
  /** A unique id, so that a stale lock is never mistaken for a later one. */
  id?: string;
  pid: number;
  /** The start time of the process; pids are reused, and the two together identify one process. */
  startTime: string;
}

/** Writes the lock to a temporary file and links it into place, so that a lock file always names its holder. */
async function tryTake(lockFile: string): Promise<boolean> {
  const id = randomUUID();
  const draft = `${lockFile}.${process.pid}-${id}`;
  const holder: Holder = { id, pid: process.pid, startTime: startTimeOf(process.pid) };
  await writeFile(draft, JSON.stringify(holder), { mode: 0o600 });
  try {
    await link(draft, lockFile);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function readLock(lockFile: string): Promise<string | undefined> {
  return readFile(lockFile, 'utf8').catch(() => undefined);
}

function parseHolder(text: string): Holder | undefined {
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return undefined;
  }
}

function isAlive(holder: Holder): boolean {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return startTimeOf(holder.pid) === holder.startTime;
}

/** Field 22 of `/proc/<pid>/stat`; empty without `/proc`. The command name before it may contain spaces. */
function startTimeOf(pid: number): string {
  try {
    const stat = readAtMostSync(`/proc/${pid}/stat`).toString();
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
