import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConnectionEnd, Opening, RequestedTarget, SessionNetwork } from '../../src/network/contract.ts';

/** What a test has started on loopback, to be closed after it. */
export interface Loopback {
  /** Listens with a server that handles each connection so. */
  tcp(handle: (socket: Socket) => void): Promise<number>;
  /** Listens with a server that was made elsewhere. */
  listen(server: Server, host?: string): Promise<number>;
  /** A client of the network: a socket whose other end is carried to the target. */
  client(network: SessionNetwork, target: RequestedTarget): Promise<Client>;
  /** A socket whose other end is served as a plain HTTP proxy. */
  httpClient(network: SessionNetwork): Promise<Socket>;
  close(): void;
}

export interface Client {
  readonly socket: Socket;
  readonly opening: Opening;
  readonly ended: Promise<ConnectionEnd | undefined>;
}

export function startLoopback(): Loopback {
  const servers = new Set<Server>();
  const sockets = new Set<Socket>();

  function keep(socket: Socket): Socket {
    sockets.add(socket.on('error', () => undefined));
    return socket;
  }

  async function listen(server: Server, host = '127.0.0.1'): Promise<number> {
    servers.add(server.on('connection', keep).listen(0, host));
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  const tcp = (handle: (socket: Socket) => void) => listen(createServer({ allowHalfOpen: true }, handle));

  /** Both ends of a TCP connection. */
  async function pair(): Promise<[Socket, Socket]> {
    const server = createServer({ allowHalfOpen: true });
    const port = await listen(server);
    const socket = keep(connect({ port, host: '127.0.0.1', allowHalfOpen: true }));
    const [inner] = (await once(server, 'connection')) as [Socket];
    server.close();
    return [socket, inner];
  }

  return {
    tcp,
    listen,
    client: async (network, target) => {
      const [socket, inner] = await pair();
      const opening = await network.open(target);
      if (opening.kind === 'open') return { socket, opening, ended: opening.connection.carry(inner) };
      inner.destroy();
      return { socket, opening, ended: Promise.resolve(undefined) };
    },
    httpClient: async (network) => {
      const [socket, inner] = await pair();
      void network.serveHttp(inner);
      return socket;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      for (const server of servers) server.close();
    },
  };
}

/** A certificate for these names, signed by its own key. */
export function selfSigned(...names: string[]): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'hotcell-test-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = [
    '-subj',
    '/CN=hotcell-test',
    '-addext',
    `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}`,
  ];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  try {
    execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' });
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A certificate for a name, signed by an authority of its own: some clients refuse one that is both. */
export function signedByOwn(name: string): { key: string; cert: string; authority: string } {
  const folder = mkdtempSync(join(tmpdir(), 'hotcell-test-'));
  const file = (each: string) => join(folder, each);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  try {
    openssl(
      'req',
      '-x509',
      ...kind,
      '-days',
      '1',
      '-keyout',
      file('ca.key'),
      '-out',
      file('ca'),
      '-subj',
      '/CN=test CA',
    );
    openssl('req', ...kind, '-keyout', file('key'), '-out', file('request'), '-subj', `/CN=${name}`);
    writeFileSync(
      file('extensions'),
      `subjectAltName=DNS:${name}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n`,
    );
    const signed = ['-CA', file('ca'), '-CAkey', file('ca.key'), '-CAcreateserial', '-extfile', file('extensions')];
    openssl('x509', '-req', '-in', file('request'), '-out', file('cert'), '-days', '1', ...signed);
    const [key, cert, authority] = ['key', 'cert', 'ca'].map((each) => readFileSync(file(each), 'utf8'));
    return { key: key!, cert: cert!, authority: authority! };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** All bytes until the end of a stream, or until it breaks. */
export async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await new Promise((resolve) => socket.once('end', resolve).once('close', resolve));
  return Buffer.concat(chunks).toString();
}

/** The next bytes of a stream. */
export async function readSome(socket: Socket): Promise<string> {
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString();
}
