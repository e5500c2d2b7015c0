import { readdir } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readAtMost, readAtMostSync } from '../../lib/read-at-most.ts';
import { mayBeJail } from './session-uids.ts';

/**
 * The variable that bubblewrap is told to set. It appears in bubblewrap's own arguments, even if setup never finishes.
 */
export const MARKER = 'HOTCELL_JAIL';

/** The statuses read in one turn of the event loop: less than a millisecond. */
const STATUSES_AT_ONCE = 16;
const MOST_STATUS_BYTES = 8192;
/** The marker is one of bubblewrap's first arguments. */
const MOST_ARGUMENT_BYTES = 4096;

/**
 * Finds jails whose server is dead. Processes die with their server (`--die-with-parent`), but a bubblewrap that loses
 * its parent during setup waits for ever.
 */
export async function orphanedJails(
  installationId: string,
  isServerAlive: (serverId: string) => Promise<boolean>,
): Promise<{ pid: number; serverId: string }[]> {
  const found: { pid: number; serverId: string }[] = [];
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const [index, name] of pids.entries()) {
    if (index % STATUSES_AT_ONCE === 0) await nextTurn();
    // SECURITY: the uid is checked first. The arguments of another user's program are never read.
    if (!isOurs(name)) continue;
    // SECURITY: read in another thread, because a program can make the reader of its arguments wait (they are in its
    // memory, which may be a slow file).
    const commandLine = await readAtMost(`/proc/${name}/cmdline`, MOST_ARGUMENT_BYTES).catch(() => Buffer.alloc(0));
    const serverId = serverIn(commandLine, installationId);
    if (serverId === undefined) continue;
    if (!(await isServerAlive(serverId))) found.push({ pid: Number(name), serverId });
  }
  return found;
}

/**
 * The server named by the argument after `MARKER`. SECURITY: the bytes are searched without splitting: a list of all
 * arguments can take fifty times the memory of the command line, which may be forged.
 */
function serverIn(commandLine: Buffer, installationId: string): string | undefined {
  const before = Buffer.from(`\0${MARKER}\0${installationId}-`);
  const index = commandLine.indexOf(before);
  if (index === -1) return undefined;
  const begin = index + before.length;
  const end = commandLine.indexOf(0, begin);
  return end === -1 ? undefined : commandLine.toString('utf8', begin, end);
}

/**
 * SECURITY: any user can start a program with these arguments, to make root kill a process, or to make the cleanup of
 * all orphans fail.
 */
function isOurs(pid: string): boolean {
  const status = statusOf(pid);
  // A thread of the Linux kernel has no memory, nor arguments. On an idle host most processes are such.
  if (!/^VmSize:/m.test(status)) return false;
  // The real uid is read. The owner of the folder in /proc is root for a program that changed its uid.
  const uid = status.match(/^Uid:\s+(\d+)/m)?.[1];
  return uid !== undefined && mayBeJail(Number(uid));
}

/** Synchronous, because that takes a tenth of the time: a status is never waited for. */
function statusOf(pid: string): string {
  try {
    return readAtMostSync(`/proc/${pid}/status`, MOST_STATUS_BYTES).toString('latin1');
  } catch {
    return ''; // it has ended
  }
}
