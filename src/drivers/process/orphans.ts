import { readdir } from 'node:fs/promises';
import { readAtMost } from '../../lib/read-at-most.ts';
import { mayBeJail } from './session-uids.ts';

/** The variable that bubblewrap is told to set: it is in the arguments of bubblewrap itself, also of one that never got further. */
export const MARKER = 'HOTCELL_JAIL';

/**
 * Jails whose server is dead. Processes die with their server (`--die-with-parent`), but a bubblewrap that lost its parent while it was
 * still being set up waits for ever.
 */
export async function orphanedJails(
  installationId: string,
  isServerAlive: (serverId: string) => Promise<boolean>,
): Promise<{ pid: number; serverId: string }[]> {
  const found: { pid: number; serverId: string }[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    // SECURITY: the uid first. Nothing is read of the arguments of a stranger's program.
    if (!(await isOurs(name))) continue;
    const serverId = serverIn(await readAtMost(`/proc/${name}/cmdline`).catch(() => Buffer.alloc(0)), installationId);
    if (serverId === undefined) continue;
    if (!(await isServerAlive(serverId))) found.push({ pid: Number(name), serverId });
  }
  return found;
}

/** The server that the argument after `MARKER` names. Bubblewrap has both among its first. SECURITY: they are searched for as bytes: a list of all arguments may cost fifty times their size. */
function serverIn(commandLine: Buffer, installationId: string): string | undefined {
  const before = Buffer.from(`\0${MARKER}\0${installationId}-`);
  const index = commandLine.indexOf(before);
  if (index === -1) return undefined;
  const begin = index + before.length;
  const end = commandLine.indexOf(0, begin);
  return end === -1 ? undefined : commandLine.toString('utf8', begin, end);
}

/** SECURITY: any user of the machine can give a program these arguments, to have root kill another's in its place, or to fail the clearing of all others. */
async function isOurs(pid: string): Promise<boolean> {
  // The real uid, and not the owner of the folder in /proc, who is root for a program that changed its uid.
  const status = await readAtMost(`/proc/${pid}/status`).catch(() => '');
  const uid = String(status).match(/^Uid:\s+(\d+)/m)?.[1];
  return uid !== undefined && mayBeJail(Number(uid));
}
