import { readdir, readFile } from 'node:fs/promises';
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
    const argv = (await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')).split('\0');
    const value = argv[argv.indexOf(MARKER) + 1] ?? '';
    if (!argv.includes(MARKER) || !value.startsWith(`${installationId}-`)) continue;
    if (!(await isOurs(name))) continue;
    const serverId = value.slice(installationId.length + 1);
    if (!(await isServerAlive(serverId))) found.push({ pid: Number(name), serverId });
  }
  return found;
}

/** SECURITY: any user of the machine can give a program these arguments, to have root kill another's in its place, or to fail the clearing of all others. */
async function isOurs(pid: string): Promise<boolean> {
  // The real uid, and not the owner of the folder in /proc, who is root for a program that changed its uid.
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const uid = status.match(/^Uid:\s+(\d+)/m)?.[1];
  return uid !== undefined && mayBeJail(Number(uid));
}
