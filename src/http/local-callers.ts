import type { Socket } from 'node:net';
import { createTcpUsers, type TcpUsers } from '../lib/tcp-users.ts';

/** Whether a program of a user whom the server serves without a token holds the other end of a connection. */
export type IsLocalCaller = (socket: Socket) => Promise<boolean>;

/** The user that this server runs as, and the one who started it with sudo. */
export interface ServingUser {
  readonly uid: number | undefined;
  readonly sudoUid?: number | undefined;
}

/** The list of connections changes while it is read, and a line may be passed over. */
const LOOKS = 3;

/**
 * SECURITY: every user of the machine can connect to loopback, and sessions have the access of the server's user: to its
 * mount roots, its load roots, its processors. So callers without a token must be programs of that user, or of root.
 * Where the system has no list of connections, all callers of this machine count as that user's.
 */
export function createLocalCallers({ uid, sudoUid }: ServingUser, userOf: TcpUsers = createTcpUsers()): IsLocalCaller {
  const known = new WeakMap<Socket, Promise<boolean>>();
  const served = new Set([0, uid, ...(uid === 0 ? [sudoUid] : [])]);

  async function look({ remoteAddress, remotePort, localAddress, localPort }: Socket): Promise<boolean> {
    if (remoteAddress === undefined || remotePort === undefined) return false; // it has disconnected
    if (localAddress === undefined || localPort === undefined) return false;
    for (let looked = 0; looked < LOOKS; looked += 1) {
      const ends = [
        { address: remoteAddress, port: remotePort },
        { address: localAddress, port: localPort },
      ] as const;
      const user = await userOf(...ends);
      if (user === 'unknown') return true;
      if (user !== undefined) return served.has(user);
    }
    return false;
  }

  return async (socket) => {
    if (uid === undefined) return true;
    const answer = known.get(socket) ?? look(socket);
    known.set(socket, answer);
    return answer;
  };
}
