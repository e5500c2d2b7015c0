import type { Socket } from 'node:net';
import { HotcellError } from '../errors/hotcell-error.ts';
import { addressKey } from './networks.ts';

/** The connections of a server: their limits, and which one is closed when there are too many. */
export interface Connections {
  /** Registers a new connection. It is destroyed if there is no room for it. */
  opened(socket: Socket): void;
  /** A request starts on the connection. Call the returned function when its response is sent. */
  began(socket: Socket): () => void;
  /** The client is authenticated. Throws if that owner has too many connections. */
  proved(socket: Socket, owner: { readonly id: string; readonly isAnonymous?: boolean }): void;
  /**
   * The client has a signed link of that owner. Throws if there are too many. SECURITY: links are passed on. Their
   * holders must not use up the connections of the owner, nor count towards the owner's unread responses.
   */
  provedByLink(socket: Socket, owner: { readonly id: string; readonly isAnonymous?: boolean }): void;
  /** Ends connections whose clients have not read their responses for too long. Called every second. */
  endUnread(): void;
  /** Bytes of unread responses to this owner's clients. */
  unsentBytes(owner: string): number;
  /** The owner that was last authenticated over this connection. */
  ownerOf(socket: Socket): string | undefined;
  count(): number;
}

export interface ConnectionLimits {
  readonly total: number;
  /** The maximum number of unauthenticated connections from one address. */
  readonly strangersPerAddress: number;
  readonly perOwner: number;
  /** The maximum number of connections that read files of one owner by signed links. */
  readonly linksPerOwner?: number;
  /** The time after which a response that is not read is aborted. */
  readonly unreadMs?: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = { total: 4096, strangersPerAddress: 512, perOwner: 1024 };
const LINKS_PER_OWNER = 32;
const UNREAD_MS = 60_000;
/** Responses to unauthenticated clients fit into kernel buffers. */
const STRANGERS_UNREAD_MS = 5_000;

interface Connection {
  readonly socket: Socket;
  readonly address: string;
  owner?: string;
  /** Requests that are being answered. A request with incomplete headers does not count. */
  active: number;
  /** The state of the unread bytes when it last changed, and the time of that change. */
  unsent?: { readonly mark: string; readonly since: number };
}

/**
 * SECURITY: keeping a connection open costs the client nothing, and an attacker could open all that a server allows. So
 * idle connections are closed to make room: unauthenticated ones before those of owners, the longest idle first.
 * Unauthenticated clients of one address displace each other, and each owner has a limit.
 */
export function createConnections(limits: ConnectionLimits = CONNECTION_LIMITS): Connections {
  /** In order of use, least recently used first. */
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

  /** Closes an idle connection if there are too many. Returns false if none may be closed. */
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

  /**
   * Assigns a connection to an owner. All clients of a server without tokens are one owner, so the limit per owner does
   * not apply to it.
   */
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
    ownerOf: (socket) => all.get(socket)?.owner,
    count: () => all.size,
  };
}

/**
 * Changes with every byte that a reader takes. SECURITY: a socket timeout would not do, because data that the client
 * sends resets it.
 */
function unsentMark({ socket }: Connection): string | undefined {
  if (socket.writableLength === 0) return undefined;
  const handle = (socket as Socket & { _handle?: { writeQueueSize?: number } | null })._handle;
  return `${socket.bytesWritten}/${socket.writableLength}/${handle?.writeQueueSize ?? 0}`;
}

function isStranger({ owner }: Connection): boolean {
  return owner === undefined;
}

function tooMany(most: number): HotcellError {
  return new HotcellError('too_many_connections', `you have ${most} active connections, which is the limit`, {
    remedy: 'Wait for one of them, or close it.',
  });
}
