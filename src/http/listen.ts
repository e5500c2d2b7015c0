import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { HotcellError } from '../errors/hotcell-error.ts';
import { KEPT_HEADERS } from '../lib/header-count.ts';
import { createUnreadBodies } from '../lib/unread-bodies.ts';
import { type Connections, createConnections } from './connections.ts';
import type { HttpApp } from './environment.ts';
import { isLoopback } from './exposure.ts';
import { createOneAtATime } from './one-at-a-time.ts';

/** A listening server. */
export interface Listening {
  /** `http://127.0.0.1:7878`, the URL on this machine. */
  readonly url: string;
  readonly port: number;
  /** Stops accepting connections, gives running requests a moment to finish, then ends them. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Whether it keeps the process alive. */
  readonly ref?: boolean;
  readonly connections?: Connections;
}

const HEADERS_MS = 10_000;
const KEEP_ALIVE_MS = 65_000;
const LAST_ANSWERS_MS = 1_000;
/** The interval of the check for unread responses. */
const SWEEP_MS = 1_000;

export async function listen(
  app: HttpApp,
  { host, port, ref = true, connections = createConnections() }: ListenOptions,
): Promise<Listening> {
  const oneAtATime = createOneAtATime();
  const unreadBodies = createUnreadBodies();
  // SECURITY: the library would read up to 64 MB of a body that the app has refused.
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false, autoCleanupIncoming: false });
  const server = createServer(
    {
      // SECURITY: limits a client that sends its headers a byte at a time (slow loris). Bodies have their own limits,
      // by route.
      headersTimeout: HEADERS_MS,
      connectionsCheckingInterval: HEADERS_MS / 2,
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
      noDelay: true,
      // The guard checks it. Node would answer by itself, and bypass the rule of one request at a time.
      requireHostHeader: false,
    },
    (incoming, outgoing) => {
      // Errors of a broken connection are handled by its reader or writer.
      incoming.on('error', () => {});
      outgoing.on('error', () => {});
      oneAtATime.answers(incoming.socket, outgoing);
      if (incoming.socket.destroyed) return;
      outgoing.once('close', connections.began(incoming.socket));
      unreadBodies.begin(incoming, outgoing);
      listener(incoming, outgoing).catch(() => outgoing.destroy());
    },
  );
  server.maxHeadersCount = KEPT_HEADERS;
  // SECURITY: Node would answer these by itself, too, thousands from one packet.
  server.on('checkExpectation', (incoming, outgoing) => {
    outgoing.on('error', () => {});
    oneAtATime.answers(incoming.socket, outgoing);
    unreadBodies.begin(incoming, outgoing);
    if (!incoming.socket.destroyed) outgoing.writeHead(417, { connection: 'close' }).end();
  });
  // SECURITY: a tunnel is for proxies. `Upgrade` needs no listener: without one Node ignores the header, as clients
  // that offer HTTP/2 expect.
  server.on('connect', (_, socket) => socket.destroy());
  server.on('connection', (socket) => {
    oneAtATime.watch(socket);
    unreadBodies.watch(socket);
    connections.opened(socket);
  });
  const sweep = setInterval(connections.endUnread, SWEEP_MS).unref();
  server.once('close', () => clearInterval(sweep));
  await begin(server, host, port);
  if (!ref) server.unref();
  const { port: taken } = server.address() as AddressInfo;
  return { url: `http://${shownHost(host)}:${taken}`, port: taken, close: () => end(server) };
}

function begin(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(error, host, port)));
    server.listen({ host: host.replace(/^\[(.*)\]$/, '$1'), port }, resolve);
  });
}

function end(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => server.closeAllConnections(), LAST_ANSWERS_MS);
    server.close(() => {
      clearTimeout(late);
      resolve();
    });
    server.closeIdleConnections();
  });
}

function shownHost(host: string): string {
  if (host === '0.0.0.0' || host === '::' || host === '[::]') return '127.0.0.1';
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): HotcellError {
  const where = `${host}:${port}`;
  if (error.code === 'EADDRINUSE') {
    return new HotcellError('invalid_argument', `${where} is in use by another program`, {
      remedy: 'Choose another port with --port, or use --port 0 for any free port.',
      data: { portInUse: port },
    });
  }
  return new HotcellError('invalid_argument', `cannot listen on ${where} (${error.code ?? error.message})`, {
    remedy: isLoopback(host) ? 'Choose another port with --port.' : 'Pass an address of this machine to --host.',
  });
}
