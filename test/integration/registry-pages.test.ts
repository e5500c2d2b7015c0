import { createServer as createHttp, type RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NO_PROXY, readHostProxy } from '../../src/network/host-proxy.ts';
import type { Reaching } from '../../src/registries/dial.ts';
import { fetchFile, fetchPage } from '../../src/registries/fetch-page.ts';
import type { PythonRegistries } from '../../src/registries/python-registries.ts';
import { hostReaching } from '../../src/registries/reaching.ts';
import { createRegistries, type Registries } from '../../src/registries/registries.ts';
import { type Loopback, startLoopback } from '../support/loopback-servers.ts';

let loopback: Loopback;
let asked: string[];
beforeEach(() => {
  loopback = startLoopback();
  asked = [];
});
afterEach(() => loopback.close());

const signal = () => AbortSignal.timeout(10_000);
const serve = (answer: RequestListener) =>
  loopback.listen(
    createHttp((request, response) => {
      asked.push(request.url ?? '');
      answer(request, response);
    }),
  );

async function reaching(proxyPort?: number): Promise<Reaching> {
  const proxy = proxyPort === undefined ? NO_PROXY : readHostProxy({ HTTP_PROXY: `http://127.0.0.1:${proxyPort}` });
  return { ...(await hostReaching({})), proxy };
}

function registriesAt(url: string): Registries {
  const python: PythonRegistries = {
    ...{ index: { url }, extraIndexes: [], findLinks: [], insecureHosts: [] },
    ...{ certificates: undefined, strategy: 'first-index' },
  };
  const npm = { registry: undefined, scopes: new Map(), certificates: undefined };
  return createRegistries({ python: async () => python, npm: async () => npm, apt: async () => [] });
}

describe("a registry outside of the host's own network", () => {
  const registry = { url: 'http://index.example/simple/' };

  test.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://127.0.0.1:8080/',
    'http://[::ffff:10.0.0.1]/',
    'http://2130706433/',
    'http://metadata.google.internal/',
    'http://intranet/',
  ])('cannot send the host to %s by a redirect', async (location) => {
    const proxy = await serve((_, response) => response.writeHead(302, { location }).end());
    await expect(fetchPage(registry, 'pip/', await reaching(proxy), signal())).rejects.toThrow('own network');
    expect(asked).toEqual(['http://index.example/simple/pip/']);
  });

  test('can send it to another public host', async () => {
    const proxy = await serve(({ url = '' }, response) => {
      if (url.includes('index.example')) response.writeHead(302, { location: 'http://mirror.example/pip/' }).end();
      else response.end('<a href="https://files.example/pip.whl">pip</a>');
    });
    const page = await fetchPage(registry, 'pip/', await reaching(proxy), signal());
    expect(page).toMatchObject({ isPrivate: false, urls: [expect.anything(), 'http://mirror.example/pip/'] });
  });

  test('cannot have the host fetch a file there, by an address or a name; a mirror of that network can', async () => {
    const port = await serve((_, response) => response.end('inside'));
    const ways = await reaching();
    for (const url of [`http://127.0.0.1:${port}/file`, `http://localhost:${port}/file`]) {
      await expect(fetchFile({ registry, url, isPrivate: false }, 100, ways, signal())).rejects.toThrow('own network');
      expect(asked).toEqual([]);
      const found = await fetchFile({ registry, url, isPrivate: true }, 100, ways, signal());
      expect(found?.toString()).toBe('inside');
      asked.length = 0;
    }
  });
});

test('a page is private if it was read from a private address', async () => {
  const port = await serve((_, response) => response.end('<a href="http://10.9.8.7/pip.whl">pip</a>'));
  const page = await fetchPage({ url: `http://localhost:${port}/` }, 'pip/', await reaching(), signal());
  expect(page?.isPrivate).toBe(true);
});

test('a registry that answers with another protocol is one that cannot be reached, now and later', async () => {
  const port = await loopback.tcp((socket) => {
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    );
  });
  const registries = registriesAt(`http://127.0.0.1:${port}/simple/`);
  for (const _ of [1, 2]) {
    expect(await registries.hosts({ of: ['python'] })).toEqual([{ rule: `127.0.0.1:${port}`, configured: true }]);
    expect(await registries.hostsOfProjects(['any'], { owner: 'ada' })).toEqual([]);
  }
});

test('pages of projects are read a few at a time, and once for two builders', async () => {
  let [open, most] = [0, 0];
  const port = await serve((_, response) => {
    open += 1;
    most = Math.max(most, open);
    setImmediate(() => {
      open -= 1;
      response.end('<a href="https://files.example/x.whl">x</a>');
    });
  });
  const registries = registriesAt(`http://127.0.0.1:${port}/simple/`);
  const names = Array.from({ length: 60 }, (_, at) => `project-${at}`);
  const first = await registries.hostsOfProjects(names, { owner: 'ada' });
  expect(first).toContainEqual({ rule: 'files.example', configured: false });
  expect(await registries.hostsOfProjects(names, { owner: 'ada' })).toEqual(first);
  expect(asked).toHaveLength(60);
  expect(most).toBeLessThanOrEqual(8);
});

test('pages that an owner waits for do not delay those of another owner, also of the same projects', async () => {
  const port = await serve(({ url = '' }, response) => {
    if (!url.includes('lost-')) response.end('<a href="https://files.example/x.whl">x</a>');
  });
  const registries = registriesAt(`http://127.0.0.1:${port}/simple/`);
  const stop = new AbortController();
  const names = [...Array.from({ length: 60 }, (_, at) => `lost-${at}`), 'wanted'];
  const greedy = registries.hostsOfProjects(names, { owner: 'greedy', signal: stop.signal });
  await expect.poll(() => asked.length).toBe(8);
  const found = await registries.hostsOfProjects(['wanted'], { owner: 'other' });
  expect(found).toContainEqual({ rule: 'files.example', configured: false });
  expect(asked).toHaveLength(9);
  stop.abort(new Error('cancelled'));
  await expect(greedy).rejects.toThrow('cancelled');
});

test('pages are read no longer than a caller waits for them: connections end, and what is queued is not asked for', async () => {
  let closed = 0;
  const port = await serve((_, response) => response.once('close', () => (closed += 1)));
  const registries = registriesAt(`http://127.0.0.1:${port}/simple/`);
  const names = Array.from({ length: 60 }, (_, at) => `lost-${at}`);
  const callers = [new AbortController(), new AbortController()];
  const waiting = callers.map(({ signal }) => registries.hostsOfProjects(names, { owner: 'ada', signal }));
  await expect.poll(() => asked.length).toBe(8);
  callers[0]!.abort(new Error('cancelled'));
  await expect(waiting[0]).rejects.toThrow('cancelled');
  expect({ asked: asked.length, closed }).toEqual({ asked: 8, closed: 0 });
  callers[1]!.abort(new Error('cancelled'));
  await expect(waiting[1]).rejects.toThrow('cancelled');
  await expect.poll(() => closed).toBe(8);
  expect(asked).toHaveLength(8);
});
