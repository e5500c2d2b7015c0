import { readdir } from 'node:fs/promises';
import { readAtMost } from '../../lib/read-at-most.ts';
import { mayBeJail } from './session-uids.ts';

/**
 * The variable that bubblewrap is told to set. It appears in bubblewrap's own arguments, even if setup never finishes.
 */
export const MARKER = 'HOTCELL_JAIL';

/**
 * Finds jails whose server is dead. Processes die with their server (`--die-with-parent`), but a bubblewrap that loses
 * its parent during setup waits for ever.
 */
export async function orphanedJails(
  installationId: string,
  isServerAlive: (serverId: string) => Promise<boolean>,
): Promise<{ pid: number; serverId: string }[]> {
  const found: { pid: number; serverId: string }[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    // SECURITY: the uid is checked first. The arguments of another user's program are never read.
    if (!(await isOurs(name))) continue;
    const serverId = serverIn(await readAtMost(`/proc/${name}/cmdline`).catch(() => Buffer.alloc(0)), installationId);
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
async function isOurs(pid: string): Promise<boolean> {
  // The real uid is read. The owner of the folder in /proc is root for a program that changed its uid.
  const status = await readAtMost(`/proc/${pid}/status`).catch(() => '');
  const uid = String(status).match(/^Uid:\s+(\d+)/m)?.[1];
  return uid !== undefined && mayBeJail(Number(uid));
}
