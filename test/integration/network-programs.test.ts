import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resolveDataDir } from '../../src/config/load.ts';
import { findOwn } from '../../src/drivers/process/python-environment.ts';
import { packageRoot } from '../../src/lib/package-root.ts';
import type { Hotcell, Session } from '../../src/main.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { pythonLayer } from '../support/python-layer.ts';
import { type RegistryServer, startRegistryServer } from '../support/registry-server.ts';
import { openTarget, reasonToSkip, requireAll, TARGETS } from '../support/targets.ts';

/** A program that knows nothing of Hotcell, and its row in docs/guides/network.md. */
interface Program {
  readonly name: string;
  /** What its user has to know. */
  readonly note: string;
  /** The command line, for a server at these addresses. It prints hello at its end. */
  line(http: string, https: string): string;
  /** A binary of this machine that is copied into the workspace, because sandboxes do not have it. */
  readonly binary?: () => string | undefined;
  /** Packages that the standard environment does not have, each with its version. */
  readonly packages?: readonly string[];
  /** A command that fails if the sandbox does not have it. */
  readonly needs?: string;
}

const python = (code: string) => `python3 -c '${code}'`;

const PROGRAMS: readonly Program[] = [
  {
    name: 'curl',
    needs: 'command -v curl',
    note: 'as it is',
    line: (http, https) => `curl -sS ${http}/hello.txt && curl -sS ${https}/hello.txt`,
  },
  {
    name: 'wget',
    needs: 'command -v wget',
    note: 'as it is; a certificate that the image does not have needs `--ca-certificate=$SSL_CERT_FILE`',
    line: (http, https) =>
      `wget -qO- ${http}/hello.txt && wget -qO- --ca-certificate=$SSL_CERT_FILE ${https}/hello.txt`,
  },
  {
    name: 'git over https',
    needs: 'command -v git',
    note: 'as it is',
    line: (_, https) => `git clone -q ${https}/repo.git cloned && cat cloned/hello.txt`,
  },
  {
    name: 'pip',
    note: 'as it is',
    line: (_, https) =>
      `python3 -m pip install -q --index-url ${https}/simple --target piped hotcell-test && PYTHONPATH=piped python3 -m hotcell_test`,
  },
  {
    name: 'uv',
    note: 'as it is',
    binary: () => onPath('uv') ?? ownTool('uv'),
    line: (_, https) =>
      `./uv pip install -q --no-cache --python python3 --index-url ${https}/simple --target uved hotcell-test && PYTHONPATH=uved python3 -m hotcell_test`,
  },
  {
    name: 'npm',
    needs: 'command -v npm',
    note: 'as it is',
    line: (_, https) =>
      `mkdir -p noded && cd noded && npm install --silent --no-audit --no-fund --registry ${https}/npm/ hotcell-test && node -p 'require("hotcell-test")'`,
  },
  {
    name: 'apt',
    needs: 'command -v apt-get',
    note: 'as it is over http; over https the certificate must be in the image',
    line: (http) => `mkdir -p apt/lists/partial apt/cache/archives/partial
echo "deb [trusted=yes] ${http}/apt ./" > apt/sources.list
options="-o Dir::State=$PWD/apt -o Dir::State::status=/dev/null -o Dir::State::lists=$PWD/apt/lists -o Dir::Cache=$PWD/apt/cache -o Dir::Etc::sourcelist=$PWD/apt/sources.list -o Dir::Etc::sourceparts=- -o Acquire::AllowInsecureRepositories=true -o Debug::NoLocking=1"
apt-get $options update > apt/log 2>&1 || cat apt/log; apt-cache $options show hotcell-test | sed -n 's/^Description: //p'`,
  },
  {
    name: 'cargo',
    note: 'as it is',
    binary: () => which('rustup', ['which', 'cargo']) ?? onPath('cargo'),
    // Debian's has sparse registries only if asked for.
    line: (_, https) => `mkdir -p crate/src && cd crate && touch src/lib.rs
printf '[package]\\nname = "own"\\nversion = "0.1.0"\\nedition = "2021"\\n[dependencies]\\nhotcell-test = { version = "1", registry = "ours" }\\n' > Cargo.toml
export CARGO_HOME=$PWD/home CARGO_REGISTRIES_OURS_INDEX=sparse+${https}/cargo/ RUSTC_BOOTSTRAP=1
../cargo -q -Z sparse-registry vendor > config && cat vendor/hotcell-test/src/lib.rs`,
  },
  {
    name: 'go',
    needs: 'command -v go',
    note: 'as it is',
    line: (_, https) =>
      `GOPATH=$PWD/gopath GOCACHE=$PWD/gocache GOFLAGS=-modcacherw GOPROXY=${https}/go GONOSUMDB='*' go mod download hotcell.test/m@v1.0.0 && echo hello`,
  },
  {
    name: 'urllib',
    note: 'as it is',
    line: (http, https) =>
      python(
        `import urllib.request\nfor url in ("${http}", "${https}"): print(urllib.request.urlopen(url + "/hello.txt").read().decode(), end="")`,
      ),
  },
  {
    name: 'requests',
    note: 'as it is',
    line: (http, https) =>
      python(
        `import requests\nfor url in ("${http}", "${https}"): print(requests.get(url + "/hello.txt").text, end="")`,
      ),
  },
  {
    name: 'httpx',
    note: 'as it is',
    line: (http, https) =>
      python(`import httpx\nfor url in ("${http}", "${https}"): print(httpx.get(url + "/hello.txt").text, end="")`),
  },
  {
    name: 'aiohttp',
    note: '`ClientSession(trust_env=True)`',
    packages: [
      ...['aiohttp==3.13.2', 'aiohappyeyeballs==2.6.1', 'aiosignal==1.4.0', 'attrs==25.4.0', 'frozenlist==1.8.0'],
      ...['multidict==6.7.0', 'propcache==0.4.1', 'yarl==1.22.0', 'idna==3.11', 'typing_extensions==4.15.0'],
    ],
    line: (_, https) =>
      python(`import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession(trust_env=True) as session:
        async with session.get("${https}/hello.txt") as answer: print(await answer.text(), end="")
asyncio.run(main())`),
  },
  {
    name: 'fetch of Node',
    note: 'as it is',
    line: (http, https) =>
      `node -e 'for (const url of ["${http}", "${https}"]) fetch(url + "/hello.txt").then((answer) => answer.text()).then((text) => process.stdout.write(text))'`,
  },
];

const skipped = await reasonToSkip(TARGETS.shared);
const guide = readFileSync(join(packageRoot(), 'docs', 'guides', 'network.md'), 'utf8');

test.each(PROGRAMS)('the guide has a row for $name', ({ name, note }) => {
  expect(guide).toContain(`| ${name} | ${note} |`);
});

describe.skipIf(skipped !== undefined)('a program in a session with a network', () => {
  const { home, remove } = makeHome();
  let server: RegistryServer;
  let hotcell: Hotcell;
  let session: Session;
  beforeAll(async () => {
    server = await startRegistryServer();
    const { http, https } = server.ports;
    const network = [`web.test:${http}`, `web.test:${https}`];
    const before = process.env.NODE_EXTRA_CA_CERTS;
    process.env.NODE_EXTRA_CA_CERTS = server.certificate;
    const reach = { resolve: async () => ['127.0.0.1'] };
    hotcell = await openTarget(TARGETS.shared, { dataDir: home, network, reach }).finally(() => {
      if (before === undefined) delete process.env.NODE_EXTRA_CA_CERTS;
      else process.env.NODE_EXTRA_CA_CERTS = before;
    });
    session = await hotcell.open({ network, limits: { memoryBytes: 2 * 1024 ** 3 } });
  });
  afterAll(async () => {
    await hotcell?.close();
    server?.[Symbol.dispose]();
    remove();
  });

  test.for(PROGRAMS)('reaches its servers: $name', async ({ name, line, binary, needs, packages }, context) => {
    const { http, https } = server.ports;
    const missing = await missingOf({ name, binary, needs });
    if (missing !== undefined && requireAll()) throw new Error(missing);
    context.skip(missing !== undefined, missing);
    if (packages !== undefined) await session.addLayer(await pythonLayer(findOwn(home)!.python, packages));
    const result = await session.command(line(`http://web.test:${http}`, `https://web.test:${https}`), {
      timeoutMs: 120_000,
    });
    expect(result.stdout.trim().split('\n').at(-1), `${result.stdout}\n${result.stderr}`).toContain('hello');
    expect(result.network, JSON.stringify(result.network)).toBeUndefined();
  });

  /** Why a program cannot be tried here. */
  async function missingOf({ name, needs, binary }: Pick<Program, 'name' | 'needs' | 'binary'>) {
    if (binary !== undefined) {
      const path = binary();
      if (path === undefined) return `this machine has no ${name}`;
      await session.files.write(name, readFileSync(path));
      await session.command(`chmod +x ${name}`);
    }
    if (needs === undefined) return undefined;
    const { outcome } = await session.command(needs);
    return outcome.kind === 'ok' ? undefined : `the sandbox has no ${name}`;
  }
});

/** A tool that Hotcell has fetched for its own use. */
function ownTool(name: string): string | undefined {
  const folder = join(resolveDataDir(), 'packages', 'tools');
  const found = existsSync(folder) ? readdirSync(folder).find((each) => each.startsWith(`${name}-`)) : undefined;
  return found === undefined ? undefined : join(folder, found, 'bin', name);
}

function which(program: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}

function onPath(program: string): string | undefined {
  return which('sh', ['-c', `command -v ${program}`]);
}
