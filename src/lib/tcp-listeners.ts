import { linesOf, TCP_TABLES, tcpRow } from './tcp-users.ts';

/** Loopback and all addresses, of IPv4 and of IPv6: the same in either order of bytes, except for 127.0.0.1. */
const REACHED = /^(0100007F|7F000001|0{8}|0{32}|0{16}(FFFF0000|0000FFFF)(0100007F|7F000001|0{8}))$/;
const LISTENING = '0A';

/** The users whose programs accept connections to 127.0.0.1 at a port. None where the system has no list. */
export async function usersListeningAt(port: number, tables: readonly string[] = TCP_TABLES): Promise<number[]> {
  const users = new Set<number>();
  for (const table of tables) {
    try {
      for await (const line of linesOf(table)) {
        const { local = '', state, uid } = tcpRow(line);
        const [address = '', hexadecimal = ''] = local.split(':');
        if (state !== LISTENING || uid === undefined || Number.parseInt(hexadecimal, 16) !== port) continue;
        if (REACHED.test(address)) users.add(uid);
      }
    } catch {
      // a system without IPv6, or without the list
    }
  }
  return [...users];
}
