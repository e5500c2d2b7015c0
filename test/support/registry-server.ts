import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../src/lib/package-root.ts';
import { signedByOwn, startLoopback } from './loopback-servers.ts';

/** The registries of several package managers, a git repository and a file, over HTTP and HTTPS as `web.test`. */
export interface RegistryServer extends Disposable {
  readonly ports: { readonly http: number; readonly https: number };
  /** The file of the authority that signed its certificate. */
  readonly certificate: string;
  /** Paths that were asked for. */
  readonly asked: string[];
}

export async function startRegistryServer(): Promise<RegistryServer> {
  const loopback = startLoopback();
  const folder = mkdtempSync(join(tmpdir(), 'hc-registry-'));
  const { key, cert, authority } = signedByOwn('web.test');
  const certificate = join(folder, 'certificate.pem');
  writeFileSync(certificate, authority);
  const asked: string[] = [];
  const serve: RequestListener = ({ url = '/', method }, response) => {
    const path = decodeURIComponent(new URL(url, 'http://x').pathname);
    asked.push(path);
    const found = fileAt(join(folder, 'files', path));
    if (found === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': typeOf(path) }).end(method === 'HEAD' ? undefined : found);
  };
  const https = await loopback.listen(createHttpsServer({ key, cert }, serve));
  const http = await loopback.listen(createHttpServer(serve));
  const script = join(packageRoot(), 'test', 'support', 'registry_files.py');
  execFileSync('python3', [script, join(folder, 'files'), `https://web.test:${https}`]);
  return {
    ports: { http, https },
    certificate,
    asked,
    [Symbol.dispose]: () => {
      loopback.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function fileAt(path: string): Buffer | undefined {
  try {
    return readFileSync(statSync(path).isDirectory() ? join(path, 'index.html') : path);
  } catch {
    return undefined;
  }
}

function typeOf(path: string): string {
  if (path.startsWith('/simple/')) return 'text/html';
  return path.startsWith('/npm/hotcell') ? 'application/json' : 'application/octet-stream';
}
