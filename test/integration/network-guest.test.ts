import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nothing } from '../../src/guest/nothing.ts';
import { CLOSED, carryTo, type NetworkSandbox, openNetworkSandbox, PROXY } from '../support/network-sandbox.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

/** The guest's side of the network, with real kernels and programs, and a host that the test plays. */

const skipped = await reasonToSkip(TARGETS.shared);
let sandbox: NetworkSandbox;
let server: Server;

beforeAll(async () => {
  if (skipped !== undefined) return;
  server = createServer((request, response) => response.end(`served ${request.url}`)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  sandbox = await openNetworkSandbox(TARGETS.shared, {
    routes: { web: (exchange) => carryTo((server.address() as AddressInfo).port, exchange) },
    environment: { NODE_OPTIONS: '--no-deprecation' },
  });
});

afterAll(async () => {
  await sandbox?.[Symbol.asyncDispose]();
  server?.close();
});

/** What each language says about a variable. */
const VARIABLE: Readonly<Record<string, string>> = {
  python: 'import os; print(os.environ.get("HTTP_PROXY"))',
  bash: 'printenv HTTP_PROXY || echo None',
  javascript: 'console.log(process.env.HTTP_PROXY ?? "None")',
  command: 'printenv HTTP_PROXY || echo None',
  perl: 'print $ENV{HTTP_PROXY} // "None"',
};

describe.skipIf(skipped !== undefined)('variables of the network', () => {
  test('are seen by live kernels and commands with their next execution, change, and go again', async () => {
    const seen = async () => {
      const said: Record<string, string> = {};
      for (const [language, code] of Object.entries(VARIABLE)) said[language] = await sandbox.run(code, language);
      return said;
    };
    const all = (value: string) => Object.fromEntries(Object.keys(VARIABLE).map((language) => [language, value]));
    expect(await seen()).toEqual(all('None'));
    const { proxy } = await sandbox.live.network(PROXY);
    expect(await seen()).toEqual(all(`http://127.0.0.1:${proxy}`));
    const changed = { ...PROXY, variables: { HTTP_PROXY: 'http://localhost:{proxy}' } };
    expect(await sandbox.live.network(changed)).toEqual({ proxy });
    expect(await seen()).toEqual(all(`http://localhost:${proxy}`));
    await sandbox.live.network(CLOSED);
    expect(await seen()).toEqual(all('None'));
  });

  test('that a program has changed for itself stay so while the network does not change', async () => {
    await sandbox.live.network(PROXY);
    await sandbox.run('import os; os.environ["NO_PROXY"] = "mine"');
    await sandbox.live.network(PROXY);
    expect(await sandbox.run('print(os.environ["NO_PROXY"])')).toBe('mine');
  });

  test('are in kernels that start later, also after a restart of all of them', async () => {
    const { proxy } = await sandbox.live.network(PROXY);
    await sandbox.live.connection.request({ type: 'restart' }, nothing);
    for (const [language, code] of Object.entries(VARIABLE))
      expect(await sandbox.run(code, language)).toBe(`http://127.0.0.1:${proxy}`);
  });
});

describe.skipIf(skipped !== undefined)('a CA bundle', () => {
  test('is a file that programs can read, and is there again after one has removed it', async () => {
    const caBundle = Buffer.from('-----BEGIN CERTIFICATE-----\n');
    await sandbox.live.network({ ...PROXY, caBundle });
    const read = 'cat "$SSL_CERT_FILE"';
    expect(await sandbox.run(read, 'bash')).toBe(caBundle.toString().trim());
    await sandbox.run('rm -rf "$(dirname "$SSL_CERT_FILE")"', 'bash');
    expect(await sandbox.run(read, 'bash')).toBe(caBundle.toString().trim());
    expect(await sandbox.run('node -p 1', 'command')).toBe('1');
  });

  test('that is not given has no variable', async () => {
    await sandbox.live.network(PROXY);
    expect(await sandbox.run('import os; print(os.environ.get("SSL_CERT_FILE"))')).toBe('None');
  });
});

const FETCH = 'await (await fetch("http://web.test/a")).text()';
const GET = `const { get } = require('node:http');
get('http://web.test/b', (reply) => reply.setEncoding('utf8').on('data', (text) => console.log(text)));`;

describe.skipIf(skipped !== undefined)('Node', () => {
  test('uses the proxy in a kernel that was there before, and in one that starts later', async () => {
    await sandbox.live.network(CLOSED);
    await sandbox.live.connection.request({ type: 'restart' }, nothing);
    expect(await sandbox.run('await fetch("http://web.test/a").catch(() => "none")', 'javascript')).toBe('');
    await sandbox.live.network(PROXY);
    expect(await sandbox.run(`console.log(${FETCH})`, 'javascript')).toBe('served /a');
    await sandbox.live.connection.request({ type: 'restart' }, nothing);
    expect(await sandbox.run(`console.log(${FETCH})`, 'javascript')).toBe('served /a');
  });

  test('uses the proxy in a program that a command starts, by fetch and by http', async () => {
    await sandbox.live.network(PROXY);
    expect(await sandbox.run(`node --input-type=module -e 'console.log(${FETCH})'`, 'command')).toBe('served /a');
    expect(await sandbox.run(`node -e "${GET.replaceAll('\n', ' ')}"`, 'command')).toBe('served /b');
  });

  test('keeps the options that the session has for it', async () => {
    await sandbox.live.network(PROXY);
    const options = 'node -p process.env.NODE_OPTIONS';
    expect(await sandbox.run(options, 'command')).toMatch(/^--no-deprecation --require=\//);
    await sandbox.live.network(CLOSED);
    expect(await sandbox.run(options, 'command')).toBe('--no-deprecation');
  });
});

describe.skipIf(skipped !== undefined)('programs', () => {
  test('reach a server by CONNECT, SOCKS5 and plain HTTP', async () => {
    await sandbox.live.network(PROXY);
    const curl = (...args: string[]) => sandbox.run(`curl -sS ${args.join(' ')}`, 'command');
    expect(await curl('--proxytunnel http://web.test/c')).toBe('served /c');
    expect(await curl('--proxy "$ALL_PROXY" http://web.test/d')).toBe('served /d');
    expect(await curl('http://web.test/e')).toBe('plain: GET http://web.test/e HTTP/1.1');
    const python = 'import urllib.request as r; print(r.urlopen("http://web.test/f").read().decode())';
    expect(await sandbox.run(python)).toBe('plain: GET http://web.test/f HTTP/1.1');
    expect(sandbox.asked.slice(-4).map(({ method }) => method)).toEqual([
      ...['network.connect', 'network.connect', 'network.http', 'network.http'],
    ]);
  });

  test('are told why a connection was refused', async () => {
    await sandbox.live.network(PROXY);
    const python =
      'import urllib.request as r\ntry: r.urlopen("https://refused.test/")\nexcept Exception as e: print(e)';
    expect(await sandbox.run(python)).toContain('403 refused.test:443 is not allowed??Injected: yes');
  });
});

describe.skipIf(skipped !== undefined)('a connection', () => {
  test('lives on from one execution to the next', async () => {
    await sandbox.live.network({ listen: [{ name: 'db', kind: 'forward' }], variables: { DB: '{db}' } });
    await sandbox.run('import os, socket; s = socket.create_connection(("127.0.0.1", int(os.environ["DB"])))');
    expect(await sandbox.run('s.sendall(b"one"); print(s.recv(10))')).toBe("b'one'");
    expect(await sandbox.run('s.sendall(b"two"); print(s.recv(10))')).toBe("b'two'");
    expect(sandbox.open()).toBe(1);
    await sandbox.run('del s');
    await expect.poll(() => sandbox.open()).toBe(0);
  });

  test('ends with its process', async () => {
    await sandbox.live.network({ listen: [{ name: 'db', kind: 'forward' }], variables: { DB: '{db}' } });
    await sandbox.run('(exec 3<>/dev/tcp/127.0.0.1/$DB; sleep 100) &', 'command');
    await expect.poll(() => sandbox.open()).toBe(1);
    await sandbox.run('pkill -KILL sleep', 'command');
    await expect.poll(() => sandbox.open()).toBe(0);
  });
});
