import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startBridge } from '../baselines/bridge.mjs';
import { afterwards } from '../cleanup.mjs';
import { benchHotcell } from '../hotcell.mjs';

const execute = promisify(execFile);
const serverProgram = fileURLToPath(new URL('../byte-server.mjs', import.meta.url));
const MB = 1_000_000;
const megabytes = 200;
const smallRequests = 100;
const drivers = [
  { isolation: 'process', atLeast: 120 },
  { isolation: 'docker', atLeast: 120 },
  { isolation: 'gvisor', atLeast: 50 },
];

/** A client that connects directly, or asks the session's proxy for the connection first (CONNECT). */
const client = `
import os, socket, time
def connected(host, port):
    proxy = os.environ.get("HOTCELL_PROXY")
    if proxy is None:
        return socket.create_connection((host, port))
    made = socket.create_connection((proxy.split(":")[0], int(proxy.split(":")[1])))
    made.sendall(f"CONNECT {host}:{port} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n".encode())
    head = b""
    while not head.endswith(b"\\r\\n\\r\\n"):
        head += made.recv(4096)  # as clients do; the server says nothing before it is asked
    assert b" 200 " in head, head
    return made
def read(host, port, count):
    buffer, got = bytearray(1 << 20), 0
    begin = time.perf_counter()
    with connected(host, port) as made:
        made.sendall(f"{count}\\n".encode())
        while n := made.recv_into(buffer):
            got += n
    assert got == count, got
    return time.perf_counter() - begin
`;

const download = (host, port) => `${client}print(read("${host}", ${port}, ${megabytes * MB}) * 1000)`;
const requests = (host, port) =>
  `${client}print(sorted(read("${host}", ${port}, 100) for _ in range(${smallRequests}))[${smallRequests / 2}] * 1000)`;

/** Bytes through the tunnel of a session, beside a container with a network of its own; and what it adds to a small request. */
export async function measure({ repeats, python, image }) {
  const port = await startServer();
  const rows = [];
  for (const { isolation, atLeast } of drivers) {
    rows.push(...(await measureDriver({ isolation, atLeast, port, repeats, python, image })));
  }
  return rows;
}

async function measureDriver({ isolation, atLeast, port, repeats, python, image }) {
  const what = `${isolation}: ${megabytes} MB through the tunnel of a session`;
  const network = [`127.0.0.1:${port}`];
  const hotcell = await benchHotcell({ isolation, poolSize: 0, network });
  const session = await hotcell.open({ network }).catch((error) => error);
  if (session instanceof Error) return [{ what, notTried: session.message }];
  const bridge = await startBridge({ image, runtime: isolation === 'gvisor' ? 'runsc' : 'runc' });
  const samples = { ours: [], bridge: [], added: [] };
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    samples.ours.push(await inSession(session, download('127.0.0.1', port)));
    if (bridge.notTried === undefined) samples.bridge.push(await bridge.run(download));
    const through = await inSession(session, requests('127.0.0.1', port));
    samples.added.push(through - (await onHost(python, requests('127.0.0.1', port))));
  }
  await hotcell.close();
  await bridge.remove?.();
  const beside = bridge.notTried === undefined ? { samples: samples.bridge } : { notTried: bridge.notTried };
  const atMost = Math.round((megabytes / atLeast) * 1000);
  return [
    {
      what,
      unit: 'ms',
      ours: samples.ours,
      baseline: { name: 'a container on a bridge network', ...beside },
      target: { atMost, unit: 'ms' },
      note: `${atMost} ms are ${atLeast} MB/s`,
    },
    {
      what: `${isolation}: what the tunnel adds to a small request`,
      unit: 'ms',
      ours: samples.added,
      target: { atMost: 2, unit: 'ms' },
    },
  ];
}

async function inSession(session, code) {
  const { stdout, stderr } = await session.run(code, { timeoutMs: 120_000 });
  if (stdout === '') throw new Error(`nothing came through the tunnel: ${stderr}`);
  return Number(stdout);
}

/** The same program without a sandbox. */
async function onHost(python, code) {
  const { stdout } = await execute(python, ['-c', code]);
  return Number(stdout);
}

async function startServer() {
  const server = spawn(process.execPath, [serverProgram], { stdio: ['ignore', 'pipe', 'inherit'] });
  afterwards(async () => void server.kill());
  const [line] = await once(server.stdout, 'data');
  return Number(line);
}
