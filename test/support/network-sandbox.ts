import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { createBroker } from '../../src/broker/broker.ts';
import { CallError, defineMethod, type Exchange } from '../../src/broker/method.ts';
import { resolveDataDir, resolveRunDir } from '../../src/config/load.ts';
import { createCollector, DEFAULT_OUTPUT_LIMITS } from '../../src/execution/collect.ts';
import { runInGuest } from '../../src/execution/run.ts';
import { type LiveSandbox, openLiveSandbox } from '../../src/guest/live-sandbox.ts';
import type { GuestNetwork } from '../../src/guest/network.ts';
import { allLanguages, COMMAND, languageNamed, PYTHON } from '../../src/languages/table.ts';
import { newId } from '../../src/lib/ids.ts';
import { DEFAULT_LIMITS, type SandboxSpec } from '../../src/sandbox/spec.ts';
import { createFileRegistry } from '../../src/sessions/file-registry.ts';
import { becomeServer } from '../../src/sessions/server.ts';
import { driverFactory, type Target } from './targets.ts';

/** A proxy, and the variables that most programs look for it in. */
export const PROXY: GuestNetwork = {
  listen: [{ name: 'proxy', kind: 'proxy' }],
  variables: {
    ...Object.fromEntries(
      ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].map((name) => [name, 'http://127.0.0.1:{proxy}']),
    ),
    ALL_PROXY: 'socks5h://127.0.0.1:{proxy}',
    NO_PROXY: 'localhost,127.0.0.1,::1',
    NODE_USE_ENV_PROXY: '1',
    NODE_OPTIONS: '{before} --require={preload}',
    SSL_CERT_FILE: '{ca}',
    NODE_EXTRA_CA_CERTS: '{ca}',
  },
};
export const CLOSED: GuestNetwork = { listen: [], variables: {} };

/** A sandbox without a session, and a host that this plays: only the guest is the real one. */
export interface NetworkSandbox extends AsyncDisposable {
  readonly live: LiveSandbox;
  /** Methods and arguments of the calls that have arrived, in order. */
  readonly asked: readonly { readonly method: string; readonly argument: unknown }[];
  /** How many calls are being served. */
  open(): number;
  /** What was printed; throws unless it ended well. */
  run(code: string, language?: string): Promise<string>;
}

/** How the host serves a connection: named by the first label of the host that a program asks for. */
export type Routes = Readonly<Record<string, (exchange: Exchange) => Promise<void>>>;

export interface NetworkSandboxOptions {
  readonly routes?: Routes;
  readonly environment?: Readonly<Record<string, string>>;
}

export async function openNetworkSandbox(
  target: Target,
  { routes = {}, environment = {} }: NetworkSandboxOptions = {},
): Promise<NetworkSandbox> {
  const cleanup: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const task of cleanup.splice(0).reverse()) await task();
  };
  try {
    const dataDir = resolveDataDir();
    const folders = { dataDir, runRoot: resolveRunDir(dataDir) };
    const server = await becomeServer(folders, createFileRegistry(folders));
    cleanup.push(() => server.release());
    const logs = await mkdtemp(join(tmpdir(), 'hotcell-test-'));
    cleanup.push(() => rm(logs, { recursive: true }));
    const driver = await driverFactory(target)(server.host);
    cleanup.push(() => driver.close());
    const live = await openLiveSandbox(driver, { ...plainSpec(), environment }, 60_000);
    cleanup.push(() => live.dispose());
    await live.connection.ready;
    const asked: { method: string; argument: unknown }[] = [];
    let open = 0;
    const serve = async (method: string, argument: { host?: string }, exchange: Exchange) => {
      asked.push({ method, argument });
      open += 1;
      try {
        const route = method === 'network.connect' ? (argument.host ?? '').split('.')[0]! : method;
        await ({ ...ROUTES, ...routes }[route] ?? ROUTES.unknown!)(exchange);
      } finally {
        open -= 1;
      }
    };
    const methods = ['network.connect', 'network.http', 'network.forward', 'network.credentials'];
    createBroker(
      methods.map((name) =>
        defineMethod({
          name,
          argument: z.looseObject({}),
          limits: { inputBytes: Infinity, outputBytes: Infinity, durationMs: Infinity },
          serve: (argument, exchange) => serve(name, argument, exchange),
        }),
      ),
    ).bind(live, { owner: 'local', session: live.sandbox.id, methods: new Set(methods) });
    let runs = 0;
    return {
      live,
      asked,
      open: () => open,
      run: async (code, language = PYTHON.name) => {
        runs += 1;
        const collector = createCollector(join(logs, `${runs}.log`), DEFAULT_OUTPUT_LIMITS, () => {});
        const isCommand = language === COMMAND.name;
        const found = isCommand ? COMMAND : languageNamed(allLanguages(), language);
        const end = await runInGuest(
          live.connection,
          {
            ...{ executionId: `x-${runs}`, language: found, filename: '<test>', timeoutMs: 120_000 },
            code: Buffer.from(isCommand ? JSON.stringify({ line: code }) : code),
            ...(isCommand ? { command: COMMAND_WITHOUT_INPUT } : {}),
          },
          collector,
        );
        const { stdout, stderr } = collector.parts();
        if (end.kind !== 'finished' || end.end.outcome.kind !== 'ok')
          throw new Error(`${JSON.stringify(end)}\n${stdout}\n${stderr}\n--- code\n${code}`);
        return stdout.trim();
      },
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Connects an exchange with a server of the test. */
export async function carryTo(port: number, exchange: Exchange): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  exchange.signal.addEventListener('abort', () => socket.destroy());
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  await exchange.result({});
  const sending = (async () => {
    for await (const piece of exchange.input)
      if (!socket.write(piece)) await new Promise((resolve) => socket.once('drain', resolve));
    socket.end();
  })().catch(() => socket.destroy());
  for await (const piece of socket) await exchange.write(piece as Buffer);
  await exchange.end();
  await sending;
}

const ROUTES: Routes = {
  /** Sends back whatever comes, and says when the client has half-closed. */
  echo: async (exchange) => {
    await exchange.result({});
    for await (const piece of exchange.input) await exchange.write(piece);
    await exchange.write(Buffer.from('|end'));
    await exchange.end();
  },
  refused: async () => {
    throw new CallError('refused', 'refused.test:443 is not allowed\r\nInjected: yes');
  },
  slow: async () => {
    throw new CallError('timed-out', 'the server did not answer');
  },
  crowded: async () => {
    throw new CallError('too-many', 'too many connections');
  },
  unknown: async () => {
    throw new CallError('unreachable', 'no such host');
  },
  /** Never connects. */
  hang: (exchange) =>
    new Promise((_, reject) => exchange.signal.addEventListener('abort', () => reject(exchange.signal.reason))),
  /** Breaks in the middle. */
  broken: async (exchange) => {
    await exchange.result({});
    await exchange.write(Buffer.from('half'));
    throw new CallError('unreachable', 'reset by the server');
  },
  /** Says its line first, and hangs up without reading. */
  greeter: async (exchange) => {
    await exchange.result({});
    await exchange.write(Buffer.from('hello first'));
    await exchange.end();
  },
  'network.http': (exchange) => answerHttp(exchange, 'plain'),
  'network.credentials': (exchange) => answerHttp(exchange, 'credentials'),
  'network.forward': (exchange) => ROUTES.echo!(exchange),
};

async function answerHttp(exchange: Exchange, who: string): Promise<void> {
  let head = '';
  for await (const piece of exchange.input) {
    head += piece.toString('latin1');
    if (head.includes('\r\n\r\n')) break;
  }
  const text = `${who}: ${head.split('\r\n')[0]}`;
  await exchange.write(
    Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`),
  );
  await exchange.end();
}

const COMMAND_WITHOUT_INPUT = {
  held: undefined,
  request: () => ({ program: { line: '' }, cwd: '', environment: {}, stdin: false }),
  begun: () => {},
  ended: () => {},
  members: { stdin: false },
};

function plainSpec(): SandboxSpec {
  return { id: newId('s'), owner: 'ada', limits: DEFAULT_LIMITS, mounts: [], preloads: [], environment: {} };
}
