import { loadConfig, servingUser } from '../config/load.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import { usersListeningAt } from '../lib/tcp-listeners.ts';

/**
 * The address of the server of this machine. SECURITY: any user can listen on the default port, and would see the code
 * and the keys that are typed, and a token of `--token`. Throws if one does who is neither this user nor root.
 */
export async function defaultServer(
  port: number = loadConfig().port,
  listening: (port: number) => Promise<readonly number[]> = usersListeningAt,
): Promise<string> {
  const { uid, sudoUid } = servingUser();
  const stranger = (await listening(port)).find((user) => uid !== undefined && ![0, uid, sudoUid].includes(user));
  if (stranger === undefined) return `http://127.0.0.1:${port}`;
  throw new HotcellError('invalid_argument', `the server on port ${port} belongs to another user (uid ${stranger})`, {
    remedy: `If you trust that user: --server http://127.0.0.1:${port}. Otherwise start your own: hotcell serve --port <port>`,
  });
}
