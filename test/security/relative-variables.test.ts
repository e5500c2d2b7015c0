import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { configFilePath, networkEnvironment, resolveDataDir, resolveRunDir } from '../../src/config/load.ts';
import { engineAddress } from '../../src/drivers/docker/engine-address.ts';
import { makeTemporaryFolder } from '../../src/lib/own-folder.ts';
import { circumstances } from '../../src/lib/program-folders.ts';
import { certificatesIn, readCaBundle } from '../../src/network/ca-bundle.ts';
import { uvSettings } from '../../src/registries/uv-settings.ts';
import { secretsOfHomes } from '../../src/sessions/secret-homes.ts';

/** A stranger's repository as the current folder, and variables of the user whose paths are empty or relative. */

const INDEX = 'https://attacker.example/simple';
const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nattacker\n-----END CERTIFICATE-----';
const before = process.cwd();
let repository: string;

beforeEach(() => {
  repository = realpathSync(mkdtempSync(join(tmpdir(), 'hc-relative-')));
  for (const folder of ['uv', '.config/uv']) plant(`${folder}/uv.toml`, `index-url = "${INDEX}"`);
  plant('.local/share/hotcell/config.json', '{ "mountRoots": ["/"] }');
  for (const socket of ['docker.sock', '.docker/run/docker.sock']) plant(socket, '');
  plant('ca.pem', CERTIFICATE);
  process.chdir(repository);
  for (const name of ['UV_NO_CONFIG', 'UV_CONFIG_FILE', 'XDG_CONFIG_HOME', 'XDG_CONFIG_DIRS', 'XDG_DATA_HOME'])
    vi.stubEnv(name, undefined);
  for (const name of ['UV_DEFAULT_INDEX', 'UV_INDEX_URL', 'DOCKER_HOST', 'XDG_RUNTIME_DIR', 'HOTCELL_HOME'])
    vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  process.chdir(before);
  rmSync(repository, { recursive: true, force: true });
});

function plant(name: string, text: string): void {
  mkdirSync(dirname(join(repository, name)), { recursive: true });
  writeFileSync(join(repository, name), text);
}

/** The index that the files of uv choose. */
const chosen = async () => (await uvSettings()).index?.address;

describe('the settings of uv in a repository', () => {
  it.each([
    ['XDG_CONFIG_DIRS', () => `${repository}:/etc/xdg`],
    ['XDG_CONFIG_HOME', () => join(repository, '.config')],
    ['HOME', () => repository],
    ['UV_CONFIG_FILE', () => join(repository, 'uv/uv.toml')],
  ])('are read if the user names it in %s', async (name, value) => {
    vi.stubEnv(name, value());
    expect(await chosen()).toBe(INDEX);
  });

  it.each([
    ...[':/etc/xdg', '/etc/xdg:', '/etc/xdg::/srv', '.', './:/etc/xdg'].map((value) => ['XDG_CONFIG_DIRS', value]),
    ...['.config', '.', './.config'].map((value) => ['XDG_CONFIG_HOME', value]),
    ...['', '.', './'].map((value) => ['HOME', value]),
    ...['uv/uv.toml', './uv/uv.toml'].map((value) => ['UV_CONFIG_FILE', value]),
  ] as [string, string][])('are not read for %s="%s"', async (name, value) => {
    vi.stubEnv(name, value);
    expect(await chosen()).not.toBe(INDEX);
  });
});

describe('certificates in a repository', () => {
  it.each(['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'])('are trusted only for an absolute %s', async (name) => {
    const bundle = () => readCaBundle(networkEnvironment(), { mostBytes: 1_048_576 });
    for (const path of ['ca.pem', './ca.pem']) {
      vi.stubEnv(name, path);
      expect((await bundle()).toString()).not.toContain('attacker');
    }
    vi.stubEnv(name, join(repository, 'ca.pem'));
    expect((await bundle()).toString()).toContain('attacker');
  });

  it('are not trusted for a relative path in the settings of pip or npm', async () => {
    expect(await certificatesIn('ca.pem')).toEqual([]);
    expect(await certificatesIn(join(repository, 'ca.pem'))).toEqual([CERTIFICATE]);
  });
});

describe('with an empty or relative HOME', () => {
  it.each(['', '.', './'])('the repository has none of the folders of the user: "%s"', (home) => {
    vi.spyOn(process, 'getuid').mockReturnValue(1000); // root has folders of the system
    vi.stubEnv('HOME', repository);
    expect(resolveDataDir()).toBe(join(repository, '.local/share/hotcell'));
    vi.stubEnv('HOME', home);
    expect(homedir()).toBe(home);
    const account = resolveDataDir();
    expect(account).toMatch(/^\/.*\/hotcell$/);
    for (const path of [account, configFilePath(account), resolveRunDir(account), circumstances().home])
      expect(path.startsWith('/') && !path.startsWith(repository), path).toBe(true);
    expect(secretsOfHomes([]).filter((path) => path.startsWith(repository))).toEqual([]);
  });
});

describe('an engine of Docker in a repository', () => {
  const isRelative = (path: unknown) => !String(path).startsWith('/');

  it.each([
    ['HOME', ''],
    ['HOME', '.'],
    ['XDG_RUNTIME_DIR', '.'],
    ['DOCKER_HOST', 'unix://docker.sock'],
    ['DOCKER_HOST', 'unix://./docker.sock'],
    ['DOCKER_HOST', 'unix://'],
  ])('is not used for %s="%s"', (name, value) => {
    vi.stubEnv(name, value);
    expect(engineAddress(process.env, isRelative).socketPath).toMatch(/^\//);
  });
});

describe('a relative TMPDIR', () => {
  it('does not put temporary folders or the run folder into the repository', () => {
    vi.spyOn(process, 'getuid').mockReturnValue(1000);
    vi.stubEnv('TMPDIR', '.');
    expect(resolveRunDir(resolveDataDir())).toBe('/tmp/hotcell-1000');
    vi.restoreAllMocks();
    const made = makeTemporaryFolder('hc-relative-made-');
    rmSync(made, { recursive: true });
    expect(dirname(made)).toBe('/tmp');
  });
});
