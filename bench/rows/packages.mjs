import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterwards } from '../cleanup.mjs';
import { benchHotcell } from '../hotcell.mjs';
import { NotTried } from '../not-tried.mjs';

const execute = promisify(execFile);
const indexProgram = fileURLToPath(new URL('../package-index.mjs', import.meta.url));
/** httpx, rich, and what they need. */
const packages = [
  ...['httpx', 'anyio', 'certifi', 'httpcore', 'h11', 'idna', 'typing-extensions'],
  ...['rich', 'markdown-it-py', 'mdurl', 'pygments'],
];
const wanted = ['bench-httpx', 'bench-rich'];
const imports = 'import bench_httpx, bench_rich; print(bench_httpx.version, bench_rich.version)';

/** A first installation beside uv on the host, from an index of our own; and the same in a second session. */
export async function measure({ repeats, python, isolations = ['process', 'docker', 'gvisor'] }) {
  if (python === undefined) throw new NotTried('there is no Python environment of sessions');
  const { packagesOf, dataDir } = await placesOf(python);
  const uv = uvIn(dataDir);
  const index = `http://127.0.0.1:${await startIndex(packagesOf)}/simple/`;
  // As a host is configured for a mirror; the builders' uv is in the data folder.
  Object.assign(process.env, { UV_DEFAULT_INDEX: index, UV_FIND_LINKS: '', PIP_FIND_LINKS: '', PIP_NO_INDEX: '' });
  const rows = [];
  for (const isolation of isolations) {
    rows.push(...(await measureDriver({ isolation, repeats, python, uv, index, dataDir })));
  }
  return rows;
}

async function measureDriver({ isolation, repeats, python, uv, index, dataDir }) {
  const what = `${isolation}: install httpx and rich, for the first time`;
  const samples = { first: [], added: [], host: [], second: [] };
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const home = newHome(dataDir);
    const hotcell = await benchHotcell({ isolation, poolSize: 0, dataDir: home });
    const before = await hotcell.open().catch((error) => error);
    if (before instanceof Error) return [{ what, notTried: before.message }];
    // A server knows its registries, and the Python of its sandboxes, from its first installation on.
    await before.install(['bench-idna']);
    await before.close();
    const first = await timeInstall(await hotcell.open());
    const second = await timeInstall(await hotcell.open());
    const host = await timeUv({ uv, python, index });
    samples.first.push(first);
    samples.host.push(host);
    samples.added.push(first - host);
    samples.second.push(second);
    await hotcell.close();
  }
  return [
    { what, unit: 'ms', ours: samples.first, baseline: { name: 'uv pip install on the host', samples: samples.host } },
    {
      what: `${isolation}: what that adds to uv pip install on the host`,
      unit: 'ms',
      ours: samples.added,
      target: { atMost: 1000, unit: 'ms' },
    },
    {
      what: `${isolation}: the same packages in a second session`,
      unit: 'ms',
      ours: samples.second,
      target: { atMost: 100, unit: 'ms' },
    },
  ];
}

async function timeInstall(session) {
  await session.run('1');
  const begin = performance.now();
  await session.install(wanted);
  const durationMs = performance.now() - begin;
  const { stdout, stderr } = await session.run(imports);
  if (stdout === '') throw new Error(`the packages are not there: ${stderr}`);
  return durationMs;
}

/** With an empty cache, as a builder has. */
async function timeUv({ uv, python, index }) {
  const folder = mkdtempSync(join(tmpdir(), 'hotcell-bench-uv-'));
  const options = ['--python', python, '--target', join(folder, 'target'), '--cache-dir', join(folder, 'cache')];
  try {
    const begin = performance.now();
    await execute(uv, ['pip', 'install', '--quiet', '--no-config', '--default-index', index, ...options, ...wanted]);
    return performance.now() - begin;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function placesOf(python) {
  const program = 'import rich, os; print(os.path.dirname(os.path.dirname(rich.__file__)))';
  const { stdout } = await execute(python, ['-I', '-c', program]);
  // <data>/python/<environment>/bin/python3
  return { packagesOf: stdout.trim(), dataDir: dirname(dirname(dirname(dirname(python)))) };
}

function uvIn(dataDir) {
  const tools = join(dataDir, 'packages', 'tools');
  const found = existsSync(tools) ? readdirSync(tools).find((name) => name.startsWith('uv-')) : undefined;
  if (found === undefined) throw new NotTried('builders have no uv yet: install any package once');
  return join(tools, found, 'bin', 'uv');
}

/**
 * A data folder without packages, but with the machine's Python environment and its tools for builders. It is beside the real one, and removed at the end of
 * all: where many files were removed in the last minutes, ext4 takes a millisecond to make one (`recently_deleted` in its ialloc.c), ten times as long as elsewhere.
 */
function newHome(dataDir) {
  const home = mkdtempSync(join(dirname(dataDir), 'hc-'));
  afterwards(async () => rmSync(home, { recursive: true, force: true }));
  chmodSync(home, 0o711);
  symlinkSync(join(dataDir, 'python'), join(home, 'python'));
  mkdirSync(join(home, 'packages'), { mode: 0o700 });
  symlinkSync(join(dataDir, 'packages', 'tools'), join(home, 'packages', 'tools'));
  return home;
}

async function startIndex(folder) {
  const server = spawn(process.execPath, [indexProgram, folder, ...packages], { stdio: ['ignore', 'pipe', 'inherit'] });
  afterwards(async () => void server.kill());
  const [line] = await once(server.stdout, 'data');
  return Number(line);
}
