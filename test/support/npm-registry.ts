import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync, strToU8 } from 'fflate';

/** A registry of npm on loopback. */
export interface NpmRegistry extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The paths that were asked for, with those that were refused for want of a login. */
  readonly requests: string[];
  readonly refused: string[];
  add(...packages: readonly NodePackage[]): void;
}

export interface NodePackage {
  readonly name: string;
  readonly version?: string;
  /** Files by path, besides `package.json`. By default `index.js`, which exports name and version. */
  readonly files?: Readonly<Record<string, string>>;
  /** More of `package.json`: dependencies, bin, scripts. */
  readonly manifest?: Readonly<Record<string, unknown>>;
}

export interface NpmRegistryOptions {
  /** The `Authorization` header that every request must have. Without it, all may read. */
  readonly authorization?: string;
}

interface Published {
  readonly manifest: Readonly<Record<string, unknown>> & { readonly version: string };
  readonly archive: Uint8Array;
}

export async function startNpmRegistry({ authorization }: NpmRegistryOptions = {}): Promise<NpmRegistry> {
  const packages = new Map<string, Published[]>();
  const [requests, refused]: string[][] = [[], []];
  const server = createServer((request, response) => {
    requests!.push(request.url ?? '');
    if (authorization === undefined || request.headers.authorization === authorization)
      return answer(request, response);
    refused!.push(request.url ?? '');
    response.writeHead(401).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;

  function answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent(url.slice(1));
    const [name = '', file] = path.split('/-/');
    const published = packages.get(name);
    const archive = published?.find(({ manifest: { version } }) => file === `${version}.tgz`)?.archive;
    if (archive !== undefined) response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(archive);
    else if (published === undefined || file !== undefined) response.writeHead(404).end('{}');
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page(name, published)));
  }

  function page(name: string, published: readonly Published[]) {
    const versions = published.map(({ manifest, archive }) => {
      const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
      const tarball = `${origin}/${name}/-/${manifest.version}.tgz`;
      const hasInstallScript = 'scripts' in manifest ? { hasInstallScript: true } : {};
      return [manifest.version, { ...manifest, ...hasInstallScript, dist: { tarball, integrity } }];
    });
    const latest = published.at(-1)!.manifest.version;
    return { name, 'dist-tags': { latest }, versions: Object.fromEntries(versions) };
  }

  return {
    url: `${origin}/`,
    port,
    requests: requests!,
    refused: refused!,
    add: (...added) => {
      for (const one of added) packages.set(one.name, [...(packages.get(one.name) ?? []), publish(one)]);
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function publish({ name, version = '1.0.0', files, manifest = {} }: NodePackage): Published {
  const described = { name, version, main: 'index.js', ...manifest };
  const own = files ?? { 'index.js': `module.exports = ${JSON.stringify({ name, version })};\n` };
  const all = { 'package.json': JSON.stringify(described), ...own };
  const entries = Object.entries(all).map(([path, text]) => tarEntry(`package/${path}`, strToU8(text)));
  return { manifest: described, archive: gzipSync(Buffer.concat([...entries, Buffer.alloc(1024)]), { mtime: 0 }) };
}

/** One file of a tape archive (ustar). */
function tarEntry(path: string, content: Uint8Array): Buffer {
  const head = Buffer.alloc(512);
  const octal = (value: number, at: number, length: number) =>
    head.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  head.write(path, 0, 100, 'latin1');
  octal(0o755, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(content.length, 124, 12);
  octal(0, 136, 12);
  head.write('        0', 148, 'latin1'); // the checksum counts as spaces; the type is a file
  head.write('ustar\x0000', 257, 'latin1');
  octal(
    head.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return Buffer.concat([head, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}
