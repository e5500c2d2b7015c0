import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** Where Hotcell keeps what it makes: environments, built programs, records of sessions. */
export function resolveDataDir(env: NodeJS.ProcessEnv = process.env): string {
  if (env.HOTCELL_HOME) return resolve(env.HOTCELL_HOME);
  // Root's home is closed to the unprivileged user that sandboxes run as.
  if (process.getuid?.() === 0) return '/var/lib/hotcell';
  if (env.XDG_DATA_HOME) return join(env.XDG_DATA_HOME, 'hotcell');
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'hotcell');
  return join(homedir(), '.local', 'share', 'hotcell');
}
