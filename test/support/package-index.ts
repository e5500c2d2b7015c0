import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { strToU8, zipSync } from 'fflate';
import type { NpmSettings } from '../../src/registries/npm-settings.ts';
import type { PythonRegistries } from '../../src/registries/python-registries.ts';
import { createRegistries, type Registries } from '../../src/registries/registries.ts';
import type { BasicLogin } from '../../src/registries/registry.ts';

/** An index of Python packages on loopback (PEP 503), and the registries of a host that is configured for it. */
export interface PackageIndex extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The paths that were asked for, with another method than GET after it, and those that were refused for want of a login. */
  readonly requests: string[];
  readonly refused: string[];
  add(...files: readonly IndexFile[]): void;
  /** Variables that point pip and uv at it, whatever else this host is configured for. */
  variables(): Record<string, string>;
  /** The registries of a host whose pip is configured so, and whose npm has the other registry. */
  registries(settings?: Partial<PythonRegistries>, npm?: Partial<NpmSettings>): Registries;
}

export interface IndexFile {
  readonly name: string;
  readonly content: Uint8Array;
}

export interface IndexOptions {
  /** Without it, anybody may read. */
  readonly login?: BasicLogin;
  /** How pages link to files: below the index's own path by default. */
  readonly links?: 'relative' | 'rooted' | 'absolute';
  /** Whether a request for this path is never answered. */
  readonly isHeld?: (path: string) => boolean;
}

export async function startPackageIndex(options: IndexOptions = {}): Promise<PackageIndex> {
  const { login, links = 'relative', isHeld = () => false } = options;
  const files = new Map<string, IndexFile>();
  const requests: string[] = [];
  const refused: string[] = [];
  const server: Server = createServer((request, response) => {
    requests.push(request.method === 'GET' ? (request.url ?? '') : `${request.method} ${request.url}`);
    if (isHeld(request.url ?? '')) return;
    if (login === undefined || request.headers.authorization === basic(login)) return answer(request, response);
    refused.push(request.url ?? '');
    response.writeHead(401, { 'www-authenticate': 'Basic realm="index"' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;

  function answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const [, project] = /^\/simple\/([^/]+)\/$/.exec(url) ?? [];
    const [, name = ''] = /^\/files\/([^/]+)$/.exec(url) ?? [];
    const found = [...files.values()].filter((file) => projectOf(file.name) === project);
    if (project !== undefined && found.length > 0)
      return void response.writeHead(200, { 'content-type': 'text/html' }).end(found.map(link).join('\n'));
    const file = files.get(name);
    if (file === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(file.content);
  }

  function link({ name, content }: IndexFile): string {
    const before = { relative: '../../files/', rooted: '/files/', absolute: `${origin}/files/` }[links];
    const hash = createHash('sha256').update(content).digest('hex');
    return `<a href="${before}${name}#sha256=${hash}">${name}</a><br>`;
  }

  function addressWith(login: BasicLogin | undefined): string {
    const url = new URL(`${origin}/simple/`);
    if (login !== undefined) Object.assign(url, login);
    return url.href;
  }

  const index = { url: `${origin}/simple/`, ...(login === undefined ? {} : { login }) };
  return {
    url: index.url,
    port,
    requests,
    refused,
    add: (...added) => {
      for (const file of added) files.set(file.name, file);
    },
    variables: () => ({
      ...{
        PIP_CONFIG_FILE: '/dev/null',
        PIP_INDEX_URL: addressWith(login),
        PIP_EXTRA_INDEX_URL: '',
        PIP_FIND_LINKS: '',
      },
      ...{ UV_NO_CONFIG: '1', UV_DEFAULT_INDEX: '', UV_INDEX: '', UV_INDEX_URL: '', UV_EXTRA_INDEX_URL: '' },
      ...{ UV_FIND_LINKS: '', PIP_NO_INDEX: '' },
    }),
    registries: (settings = {}, npm = {}) =>
      createRegistries({
        python: async () => ({ ...NOTHING_ELSE, index, ...settings }),
        npm: async () => ({ registry: undefined, scopes: new Map(), certificates: undefined, ...npm }),
        apt: async () => [],
      }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const NOTHING_ELSE = {
  ...{ extraIndexes: [], findLinks: [], insecureHosts: [] },
  ...{ certificates: undefined, strategy: 'first-index' },
};

export interface MadeWheel {
  readonly name: string;
  readonly version?: string;
  /** Files by path, besides the metadata. By default one module that knows its version. */
  readonly files?: Readonly<Record<string, string>>;
  readonly requires?: readonly string[];
  /** Console scripts, as `command: module:function`. */
  readonly scripts?: Readonly<Record<string, string>>;
}

/** A wheel in pure Python. */
export function wheel({ name, version = '1.0', files, requires = [], scripts = {} }: MadeWheel): IndexFile {
  const module = name.replaceAll('-', '_');
  const info = `${module}-${version}.dist-info`;
  const entries = Object.entries(scripts).map(([command, call]) => `${command} = ${call}`);
  const all: Record<string, string> = {
    ...(files ?? { [`${module}.py`]: `version = "${version}"\ndef main():\n    print("${name}", version)\n` }),
    [`${info}/METADATA`]: [
      ...['Metadata-Version: 2.1', `Name: ${name}`, `Version: ${version}`],
      ...requires.map((one) => `Requires-Dist: ${one}`),
      '',
    ].join('\n'),
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    ...(entries.length === 0 ? {} : { [`${info}/entry_points.txt`]: `[console_scripts]\n${entries.join('\n')}\n` }),
  };
  const record = `${info}/RECORD`;
  const lines = Object.entries(all).map(([path, text]) => `${path},sha256=${digest(text)},${Buffer.byteLength(text)}`);
  const contents = { ...all, [record]: [...lines, `${record},,`, ''].join('\n') };
  return { name: `${module}-${version}-py3-none-any.whl`, content: zipped(contents) };
}

/** A source distribution whose build runs `script` (Python), and then makes a module of its name, with `seen` as the script has set the global `_seen`. */
export function sourceWithScript(name: string, script: string, version = '1.0'): IndexFile {
  const module = name.replaceAll('-', '_');
  const root = `${module}-${version}`;
  const info = `${module}-${version}.dist-info`;
  const backend = `
import zipfile, os
def _write(folder):
    name = "${module}-${version}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as out:
        out.writestr("${module}.py", f"version = '${version}'\\nseen = {globals().get('_seen')!r}\\n")
        out.writestr("${info}/METADATA", "Metadata-Version: 2.1\\nName: ${name}\\nVersion: ${version}\\n")
        out.writestr("${info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        out.writestr("${info}/RECORD", "")
    return name
def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _script()
    return _write(wheel_directory)
def _script():
${script
  .trim()
  .split('\n')
  .map((line) => `    ${line}`)
  .join('\n')}
`;
  const files = {
    'pyproject.toml': '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
    'PKG-INFO': `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
    'backend.py': backend,
  };
  const contents = Object.fromEntries(Object.entries(files).map(([path, text]) => [`${root}/${path}`, text]));
  return { name: `${root}.zip`, content: zipped(contents) };
}

function zipped(contents: Readonly<Record<string, string>>): Uint8Array {
  const entries = Object.entries(contents).map(([path, text]) => [path, strToU8(text)] as const);
  return zipSync(Object.fromEntries(entries), { mtime: new Date('2001-01-01') });
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function projectOf(file: string): string {
  return file
    .split('-')[0]!
    .toLowerCase()
    .replace(/[-_.]+/g, '-');
}

function basic({ username, password }: BasicLogin): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}
