import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Runs `work` while no other process on this machine runs under the same lock file. A dead holder's lock is taken over. */
export async function exclusively<T>(
  lockFile: string,
  work: () => Promise<T>,
  options: { signal?: AbortSignal | undefined; onWait?: (holderPid: number) => void } = {},
): Promise<T> {
  while (!(await tryTake(lockFile))) {
    const holder = await readHolder(lockFile);
    if (holder && !isAlive(holder)) {
      await rm(lockFile, { force: true });
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

interface Holder {
  pid: number;
  /** A pid is used again after a while; together with its start time it names one process. */
  startTime: string;
}

/** Written aside and linked into place, so that a lock file is never seen without its holder's name. */
async function tryTake(lockFile: string): Promise<boolean> {
  const draft = `${lockFile}.${process.pid}-${randomUUID()}`;
  const holder: Holder = { pid: process.pid, startTime: startTimeOf(process.pid) };
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

async function readHolder(lockFile: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(lockFile, 'utf8')) as Holder;
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

/** Field 22 of `/proc/<pid>/stat`; empty where there is no `/proc`. The command name before it may hold spaces. */
function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
