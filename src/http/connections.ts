import { isIPv6, type Socket } from 'node:net';
import { HotcellError } from '../errors/hotcell-error.ts';

/** The connections of a server: how many there may be, and which gives way when one more comes. */
export interface Connections {
  /** A new connection. It is destroyed where there is no place for it. */
  opened(socket: Socket): void;
  /** A request has come over it. What it gives back says that the answer is out. */
  began(socket: Socket): () => void;
  /** The caller proved who it is. Throws where that owner has too many connections. */
  proved(socket: Socket, owner: { readonly id: string; readonly isAnonymous?: boolean }): void;
  /**
   * The caller has a signed link of that owner. Throws where too many have. SECURITY: links are handed on. Whoever has one must not take the connections of its owner, nor
   * count into what the owner does not read.
   */
  provedByLink(socket: Socket, owner: { readonly id: string; readonly isAnonymous?: boolean }): void;
  /** Ends connections whose readers take nothing of their answers for too long. Is called every second. */
  endUnread(): void;
  /** Bytes of answers that wait for this owner's readers. */
  unsentBytes(owner: string): number;
  count(): number;
}

export interface ConnectionLimits {
  readonly total: number;
  /** Connections from one address whose callers have not proved who they are. */
  readonly strangersPerAddress: number;
  readonly perOwner: number;
  /** Connections over which files of one owner are read by signed links. */
  readonly linksPerOwner?: number;
  /** How long an answer may wait for a reader that takes nothing of it. */
  readonly unreadMs?: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = { total: 4096, strangersPerAddress: 512, perOwner: 1024 };
const LINKS_PER_OWNER = 32;
const UNREAD_MS = 60_000;
/** What strangers get fits into the buffers of the kernel. */
const STRANGERS_UNREAD_MS = 5_000;

interface Connection {
  readonly socket: Socket;
  readonly address: string;
  owner?: string;
  /** Requests that are being answered. One whose headers are still coming is none. */
  active: number;
  /** What waited for its reader when that was last found changed, and when that was. */
  unsent?: { readonly mark: string; readonly since: number };
}

/**
 * SECURITY: a connection that is kept alive costs its holder nothing, and a server that only counts them is shut by whoever opens them all. So one that is idle gives way: that of a
 * stranger before that of an owner, the one that is idle for longest first. Strangers of one address displace each other, and an owner can have a share.
 */
export function createConnections(limits: ConnectionLimits = CONNECTION_LIMITS): Connections {
  /** Those that were used longest ago first. */
  const all = new Map<Socket, Connection>();

  function close({ socket }: Connection): void {
    all.delete(socket);
    socket.destroy();
  }

  function oldestIdle(isMeant: (connection: Connection) => boolean): Connection | undefined {
    for (const connection of all.values()) if (connection.active === 0 && isMeant(connection)) return connection;
    return undefined;
  }

  function count(isMeant: (connection: Connection) => boolean): number {
    let found = 0;
    for (const connection of all.values()) if (isMeant(connection)) found += 1;
    return found;
  }

  /** Closes one that may give way where there are too many. False: none may. */
  function makeRoom(address: string): boolean {
    const isNeighbour = (connection: Connection) => isStranger(connection) && connection.address === address;
    if (count(isNeighbour) >= limits.strangersPerAddress) return closed(oldestIdle(isNeighbour));
    if (all.size < limits.total) return true;
    return closed(oldestIdle(isStranger) ?? oldestIdle(() => true));
  }

  function closed(connection: Connection | undefined): boolean {
    if (connection !== undefined) close(connection);
    return connection !== undefined;
  }

  function used(connection: Connection): void {
    if (!all.delete(connection.socket)) return;
    all.set(connection.socket, connection);
  }

  /** All callers of a server without tokens are one owner: a share of it would be a share of all. */
  function assign(socket: Socket, id: string, most: number): void {
    const connection = all.get(socket);
    if (connection === undefined || connection.owner === id) return;
    const isTheirs = ({ owner }: Connection) => owner === id;
    if (count(isTheirs) >= most && !closed(oldestIdle(isTheirs))) throw tooMany(most);
    connection.owner = id;
  }

  return {
    opened: (socket) => {
      const address = addressKey(socket.remoteAddress ?? '');
      if (!makeRoom(address)) return void socket.destroy();
      all.set(socket, { socket, address, active: 0 });
      socket.once('close', () => all.delete(socket));
    },
    began: (socket) => {
      const connection = all.get(socket);
      if (connection === undefined) return () => {};
      connection.active += 1;
      used(connection);
      return () => {
        connection.active -= 1;
        used(connection);
      };
    },
    proved: (socket, { id, isAnonymous }) =>
      assign(socket, id, isAnonymous ? Number.POSITIVE_INFINITY : limits.perOwner),
    provedByLink: (socket, { id, isAnonymous }) =>
      assign(
        socket,
        `link of ${id}`,
        isAnonymous ? Number.POSITIVE_INFINITY : (limits.linksPerOwner ?? LINKS_PER_OWNER),
      ),
    endUnread: () => {
      const now = performance.now();
      const { unreadMs = UNREAD_MS } = limits;
      for (const connection of all.values()) {
        const mark = unsentMark(connection);
        if (mark === undefined) delete connection.unsent;
        else if (connection.unsent?.mark !== mark) connection.unsent = { mark, since: now };
        else if (
          now - connection.unsent.since >=
          (isStranger(connection) ? Math.min(unreadMs, STRANGERS_UNREAD_MS) : unreadMs)
        )
          close(connection);
      }
    },
    unsentBytes: (owner) => {
      let bytes = 0;
      for (const connection of all.values()) if (connection.owner === owner) bytes += connection.socket.writableLength;
      return bytes;
    },
    count: () => all.size,
  };
}

/** Changes with every byte that a reader takes. SECURITY: a timeout of the socket would not do, because what the client sends counts as life for it. */
function unsentMark({ socket }: Connection): string | undefined {
  if (socket.writableLength === 0) return undefined;
  const handle = (socket as Socket & { _handle?: { writeQueueSize?: number } | null })._handle;
  return `${socket.bytesWritten}/${socket.writableLength}/${handle?.writeQueueSize ?? 0}`;
}

function isStranger({ owner }: Connection): boolean {
  return owner === undefined;
}

/** Whose address it is. An IPv6 address is counted as its /64, because that is what one host is given. */
export function addressKey(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address;
  const [head = '', tail] = address.split('%')[0]!.split('::');
  const groups = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length);
  const whole = [...groups, ...Array<string>(missing).fill('0'), ...(tail ? tail.split(':') : [])];
  return `${whole.slice(0, 4).join(':').toLowerCase()}::/64`;
}

function tooMany(most: number): HotcellError {
  return new HotcellError('too_many_connections', `you have ${most} active connections, which is the limit`, {
    remedy: 'Wait for one of them, or close it.',
  });
}
