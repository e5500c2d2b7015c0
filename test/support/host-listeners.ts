import { randomUUID } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';

/** One way to talk to the host. The code inside sends `nonce`, and the listener writes down every nonce that arrives. */
export interface Attempt {
  readonly by: 'tcp' | 'udp' | 'dns' | 'dns-tcp' | 'icmp' | 'raw-udp' | 'unix' | 'abstract';
  readonly address: string;
  readonly port: number;
  readonly nonce: string;
}

/** Listeners of this process that code in a sandbox must not reach, each with an attempt to do so. */
export interface HostListeners extends AsyncDisposable {
  readonly attempts: readonly Attempt[];
  /** The nonces that reached a listener, by whatever way. */
  arrived(): readonly string[];
}

/** Listens on loopback and on the other addresses of this host, over IPv4 and IPv6, and on Unix sockets: one in /tmp, one with an abstract name. */
export async function openHostListeners(): Promise<HostListeners> {
  const heard: string[] = [];
  const closing: (() => unknown)[] = [];
  const attempts: Attempt[] = [];
  const attempt = (by: Attempt['by'], address: string, port = 0) =>
    attempts.push({ by, address, port, nonce: randomUUID().replaceAll('-', '') });

  for (const address of hostAddresses()) {
    const tcp = await listen(echoServer(heard), { host: address, port: 0 });
    const udp = await bindUdp(address, heard);
    closing.push(() => tcp.server.close(), udp.close);
    attempt('tcp', address, tcp.port);
    attempt('udp', address, udp.port);
    attempt('dns', address, udp.port);
    attempt('dns-tcp', address, tcp.port);
    if (isRoot()) attempt('raw-udp', address, udp.port);
    // An answer to an echo proves something where the address is the host's alone; each sandbox has a loopback of its own.
    if (isRoot() && !isLoopback(address)) attempt('icmp', address);
    // Other spellings of the loopback.
    if (address === '127.0.0.1') for (const same of ['0.0.0.0', '::ffff:127.0.0.1']) attempt('tcp', same, tcp.port);
  }

  const folder = await mkdtemp(join(tmpdir(), 'hotcell-host-'));
  await chmod(folder, 0o777);
  for (const [by, path] of [
    ['unix', join(folder, 'socket')],
    ['abstract', `\0hotcell-test-host-${randomUUID()}`],
  ] as const) {
    const { server } = await listen(echoServer(heard), { path });
    if (by === 'unix') await chmod(path, 0o777);
    closing.push(() => server.close());
    attempt(by, path);
  }

  return {
    attempts,
    arrived: () => attempts.map(({ nonce }) => nonce).filter((nonce) => heard.some((text) => text.includes(nonce))),
    [Symbol.asyncDispose]: async () => {
      for (const close of closing) close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Whether this host has a route to the world. Where it has none, no attempt to use one can succeed on it. */
export function hasDefaultRoute(): boolean {
  const routes = existsSync('/proc/net/route') ? readFileSync('/proc/net/route', 'utf8') : '';
  return routes.split('\n').some((line) => /^\S+\s+00000000\s/.test(line));
}

export const isRoot = (): boolean => process.getuid?.() === 0;

const isLoopback = (address: string) => address.startsWith('127.') || address === '::1';

function hostAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((of) => of ?? []);
  // Link-local addresses need the number of an interface, and no sandbox has one.
  return [...new Set(all.map(({ address }) => address).filter((address) => !address.startsWith('fe80')))];
}

function echoServer(heard: string[]): Server {
  return createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      heard.push(chunk.toString('latin1'));
      socket.end(chunk);
    });
  });
}

async function listen(server: Server, where: { host?: string; port?: number; path?: string }) {
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(where, resolve));
  const address = server.address();
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 };
}

async function bindUdp(address: string, heard: string[]) {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  socket.on('message', (message, { address: from, port }) => {
    heard.push(message.toString('latin1'));
    socket.send(message, port, from, () => {});
  });
  await new Promise<void>((resolve, reject) => socket.once('error', reject).bind(0, address, resolve));
  return { port: socket.address().port, close: () => socket.close() };
}
