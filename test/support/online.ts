import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HotcellOptions } from '../../src/main.ts';
import { selfSigned, startLoopback } from './loopback-servers.ts';

/** Servers of a test on loopback, under names that only its Hotcell resolves. */
export interface Online extends Disposable {
  readonly ports: Readonly<Record<'http' | 'https' | 'echo' | 'silent' | 'endless' | 'cut', number>>;
  /** Options of a Hotcell whose ceiling names the hosts `web.test` and `api.test` exactly, and those below `wild.test` by a star. */
  readonly options: HotcellOptions;
  /** Requests and connections that arrived at any of the servers, oldest first. */
  readonly arrived: string[];
  /** The names that were resolved. */
  readonly resolved: string[];
  /** Runs `open` in an environment whose certificates include that of the servers. */
  trusting<T>(open: () => Promise<T>): Promise<T>;
}

export const NAMED = ['web.test', 'api.test'] as const;

export async function startOnline(): Promise<Online> {
  const loopback = startLoopback();
  const arrived: string[] = [];
  const resolved: string[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'hc-online-'));
  const { key, cert } = selfSigned(...NAMED, 'any.wild.test');
  writeFileSync(join(folder, 'ca.pem'), cert);
  const answer: RequestListener = (request, response) => {
    arrived.push(`${request.method} ${request.headers.host}${request.url}`);
    if (request.url === '/redirect') response.writeHead(302, { location: 'http://elsewhere.test/' }).end();
    else {
      response.write('hello ');
      request.pipe(response);
    }
  };
  const note = (what: string) => arrived.push(what);
  const ports = {
    http: await loopback.listen(createHttpServer(answer)),
    https: await loopback.listen(createHttpsServer({ key, cert }, answer)),
    echo: await loopback.tcp((socket) => {
      note('echo');
      socket.pipe(socket);
    }),
    silent: await loopback.tcp(() => note('silent')),
    endless: await loopback.tcp((socket) => {
      note('endless');
      const chunk = Buffer.alloc(65_536, 'x');
      const more = () => {
        while (socket.writable && socket.write(chunk));
      };
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n');
      socket.on('drain', more);
      more();
    }),
    cut: await loopback.tcp((socket) => {
      note('cut');
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nbegun', () => socket.resetAndDestroy());
      });
    }),
  };
  const named = NAMED.flatMap((host) => Object.values(ports).map((port) => `${host}:${port}`));
  const wild = Object.values(ports).map((port) => `*.wild.test:${port}`);
  return {
    ports,
    arrived,
    resolved,
    options: {
      network: [...named, ...wild],
      reach: {
        resolve: async (host) => {
          resolved.push(host);
          return host.endsWith('.test') ? ['127.0.0.1'] : [];
        },
      },
    },
    trusting: async (open) => {
      const before = process.env.NODE_EXTRA_CA_CERTS;
      process.env.NODE_EXTRA_CA_CERTS = join(folder, 'ca.pem');
      try {
        return await open();
      } finally {
        if (before === undefined) delete process.env.NODE_EXTRA_CA_CERTS;
        else process.env.NODE_EXTRA_CA_CERTS = before;
      }
    },
    [Symbol.dispose]: () => {
      loopback.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
