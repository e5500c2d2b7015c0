import { resolveRunDir } from '../../config/load.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { shellQuoted } from '../../lib/shell-quoted.ts';
import type { ServerFacts } from '../../sessions/server-facts.ts';
import { liveServers, silentServers } from '../../sessions/server-lock.ts';

/** The servers that use a data folder. */
export interface RunningServers {
  readonly servers: readonly ServerFacts[];
  /** Paths of the locks of servers that run and do not answer: stopped by a signal, or busy. */
  readonly silent: readonly string[];
}

export async function runningServers(dataDir: string): Promise<RunningServers> {
  const folders = { dataDir, runRoot: resolveRunDir(dataDir) };
  const [servers, silent] = await Promise.all([liveServers(folders), silentServers(folders)]);
  return { servers, silent };
}

/** Throws if a server runs: its data must not vanish under it. */
export function requireNoServer({ servers, silent }: RunningServers): void {
  if (servers.length + silent.length === 0) return;
  const pids = servers.map(({ pid }) => pid);
  const said = [
    ...(pids.length === 0 ? [] : [`pid ${pids.join(', ')}`]),
    ...(silent.length === 0 ? [] : [`without an answer at ${silent.join(', ')}`]),
  ];
  const commands = [
    ...(pids.length === 0 ? [] : [`kill ${pids.join(' ')}`]),
    ...(silent.length === 0 ? [] : [`lsof ${silent.map(shellQuoted).join(' ')} (which shows the pid)`]),
  ];
  throw new HotcellError('invalid_argument', `nothing was removed: Hotcell is running (${said.join('; ')})`, {
    remedy: `End it first, such as the client that started it; or run: ${commands.join('; ')}`,
  });
}
