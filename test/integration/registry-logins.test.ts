import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { localOwner } from '../../src/directory/owner.ts';
import { openServer } from '../../src/main.ts';
import { packagesFolder } from '../../src/packages/open-installer.ts';
import { listLayers } from '../../src/packages/store/stored-layers.ts';
import { createRegistries } from '../../src/registries/registries.ts';
import { startNpmRegistry } from '../support/npm-registry.ts';
import { packageHome } from '../support/package-home.ts';
import { sourceWithScript, startPackageIndex } from '../support/package-index.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

/** Registries as the host's own pip, uv and npm are configured, with mirrors and logins. */

const skip = await reasonToSkip(TARGETS.shared);
const PATIENT = { timeout: 180_000 };
const SECRET = 'hc-registry-password-5417';
const FORMS = [SECRET, ...['', 'robot:', ':'].map((user) => base64(`${user}${SECRET}`).replace(/=+$/, ''))];

const folder = mkdtempSync(join(tmpdir(), 'hotcell-registries-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => vi.unstubAllEnvs());

/** Python that finds the secret in the variables of all processes, and in the files that a build could read. */
const LOOK = `
import os, subprocess
secret = ${JSON.stringify([...SECRET].reverse().join(''))}[::-1]
found = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
        try:
            if secret.encode() in open(f"/proc/{pid}/{name}", "rb").read():
                found.append(name)
        except OSError:
            pass
for top in ("/workspace", "/tmp", "/etc", "/opt/hotcell/layers", os.path.expanduser("~")):
    found += subprocess.run(["grep", "-rlsaF", secret, top], capture_output=True, text=True).stdout.split()
`;

describe.skipIf(skip !== undefined)('the login of a registry', () => {
  test('in the address of an index is used, and is in no sandbox, lock, log, error or list', PATIENT, async () => {
    using data = await packageHome();
    await using index = await startPackageIndex({ login: { username: 'robot', password: SECRET }, links: 'absolute' });
    index.add(sourceWithScript('hc-private', `${LOOK}\nglobals()["_seen"] = ",".join(found)`));
    stub(index.variables());
    await using server = await startServer(data.home);
    const { session } = await server.sessions.open(localOwner(server.config), {});
    await session.install(['hc-private']);
    expect((await session.run('import hc_private; print(repr(hc_private.seen))')).stdout).toBe("''\n");
    expect((await session.run(`${LOOK}\nprint(found)`)).stdout).toBe('[]\n');
    expect(index.refused).toEqual([]);
    const problem = await session.install(['hc-nowhere']).catch((error: unknown) => error);
    expect(problem).toMatchObject({ code: 'packages_conflict' });
    expectNoSecret(`${JSON.stringify(problem)}${(problem as Error).message}`);
    expectNoSecret(JSON.stringify(await listLayers(packagesFolder(data.home))));
    await server.close();
    expectNoSecretBelow(data.home);
  });

  test('that is wrong fails without a word of it', PATIENT, async () => {
    using data = await packageHome();
    await using index = await startPackageIndex({ login: { username: 'robot', password: 'another' } });
    index.add(sourceWithScript('hc-private', 'pass'));
    stub({ ...index.variables(), PIP_INDEX_URL: `http://robot:${SECRET}@127.0.0.1:${index.port}/simple/` });
    await using server = await startServer(data.home);
    const { session } = await server.sessions.open(localOwner(server.config), {});
    const problem = (await session.install(['hc-private']).catch((error: unknown) => error)) as Error;
    expect(index.refused.length).toBeGreaterThan(0);
    expect(problem).toMatchObject({ code: 'packages_conflict' });
    expectNoSecret(`${JSON.stringify(problem)}${problem.message}`);
    await server.close();
    expectNoSecretBelow(data.home);
  });

  test.each([
    ['_authToken', `Bearer ${SECRET}`, SECRET],
    ['_auth', `Basic ${base64(`robot:${SECRET}`)}`, base64(`robot:${SECRET}`)],
  ])(
    'in a file of npm (%s) is used, and is in no sandbox, lock, log or list',
    PATIENT,
    async (kind, authorization, value) => {
      using data = await packageHome();
      await using registry = await startNpmRegistry({ authorization });
      const script = `require('fs').writeFileSync('index.js', 'module.exports = ' + JSON.stringify(
      require('child_process').execFileSync('python3', ['-c', ${JSON.stringify(`${LOOK}\nprint(found)`)}], { encoding: 'utf8' })))`;
      registry.add(
        {
          name: 'hc-private',
          manifest: { dependencies: { 'hc-below': '1' }, scripts: { install: 'node look.js' } },
          files: { 'look.js': script },
        },
        { name: 'hc-below' },
      );
      const file = join(folder, `npmrc-${kind}`);
      writeFileSync(file, `registry=${registry.url}\n//127.0.0.1:${registry.port}/:${kind}=\${HC_LOGIN}\n`);
      stub({ ...npmFile(file), HC_LOGIN: value });
      await using server = await startServer(data.home);
      const { session } = await server.sessions.open(localOwner(server.config), {});
      await session.install(['hc-private'], { manager: 'npm' });
      const seen = await session.run("require('hc-private').trim()", { language: 'javascript' });
      expect(seen.value?.text).toBe("'[]'");
      expect(registry.refused).toEqual([]);
      await server.close();
      expectNoSecretBelow(data.home);
    },
  );
});

describe('the registries of this host', () => {
  const pipFile = written(
    'pip.conf',
    '[global]\nindex-url = https://a.example/simple\nextra-index-url =\n    https://b.example/simple\n    https://c.example/simple\n[install]\nfind-links = /opt/wheels\n',
  );
  const uvFile = written(
    'uv.toml',
    'find-links = ["/opt/wheels"]\n[[index]]\nurl = "https://b.example/simple"\n[[index]]\nurl = "https://a.example/simple"\ndefault = true\n',
  );

  test.each([
    ['a file of pip', { PIP_CONFIG_FILE: pipFile }, ['b', 'c'], ['/opt/wheels']],
    ['variables of pip', { PIP_INDEX_URL: at('a'), PIP_EXTRA_INDEX_URL: `${at('b')} ${at('c')}` }, ['b', 'c'], []],
    ['a file of uv', { UV_CONFIG_FILE: uvFile, UV_NO_CONFIG: '' }, ['b'], ['/opt/wheels']],
    ['variables of uv', { UV_DEFAULT_INDEX: at('a'), UV_INDEX: at('b'), PIP_INDEX_URL: at('z') }, ['b'], []],
  ] as const)('are those of %s', PATIENT, async (_, variables, extras, links) => {
    stub({ ...UNSET, ...variables });
    expect(await createRegistries().python()).toMatchObject({
      index: { url: at('a') },
      extraIndexes: extras.map((host) => ({ url: at(host) })),
      findLinks: links.map((path) => ({ folder: path })),
    });
  });

  test('are those of a file of npm, scopes included', PATIENT, async () => {
    stub(npmFile(written('npmrc', `registry=${at('a')}\n@team:registry=${at('b')}\n`)));
    expect(await createRegistries().npm()).toMatchObject({
      registry: { url: at('a') },
      scopes: new Map([['@team', { url: at('b') }]]),
    });
  });

  test('are those of a variable of npm', PATIENT, async () => {
    stub({ ...npmFile('/dev/null'), npm_config_registry: at('a') });
    expect(await createRegistries().npm()).toMatchObject({ registry: { url: at('a') } });
  });
});

const UNSET = {
  ...{ PIP_CONFIG_FILE: '/dev/null', PIP_INDEX_URL: '', PIP_EXTRA_INDEX_URL: '', PIP_FIND_LINKS: '', PIP_NO_INDEX: '' },
  ...{ UV_NO_CONFIG: '1', UV_CONFIG_FILE: '', UV_DEFAULT_INDEX: '', UV_INDEX: '', UV_INDEX_URL: '' },
  ...{ UV_EXTRA_INDEX_URL: '', UV_FIND_LINKS: '' },
};

function startServer(home: string) {
  const log = { logFile: join(home, 'server.log'), logLevel: 'debug' as const };
  return openServer({ dataDir: home, isolation: 'process', poolSize: 0, preloads: [], ...log });
}

function stub(variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
}

/** npm's own programs set these variables for what they start, as this test. */
function npmFile(file: string): Record<string, string> {
  return {
    npm_config_userconfig: file,
    NPM_CONFIG_USERCONFIG: file,
    npm_config_registry: '',
    npm_config_globalconfig: '/dev/null',
  };
}

function written(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

function at(host: string): string {
  return `https://${host}.example/simple`;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function expectNoSecret(text: string): void {
  expect(FORMS.filter((form) => text.includes(form))).toEqual([]);
}

/** grep, because the folder has links to programs. */
function expectNoSecretBelow(home: string): void {
  const patterns = FORMS.flatMap((form) => ['-e', form]);
  const found = execFileSync('sh', ['-c', 'grep -rlaF "$@" || true', 'grep', ...patterns, home], { encoding: 'utf8' });
  expect(found).toBe('');
}
