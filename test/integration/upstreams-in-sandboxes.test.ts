import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { HotcellOptions } from '../../src/main.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { freePort } from '../support/free-port.ts';
import { startLoopback } from '../support/loopback-servers.ts';
import { reasonNoPostgres, startPostgres } from '../support/postgres.ts';
import { openTarget, reasonToSkip, requireAll, TARGETS } from '../support/targets.ts';

/** Servers that the operator has named, as programs in a sandbox without a network use them. */

const SECRET = 'correct-horse-battery-staple';
const { home, remove } = makeHome();
const folder = mkdtempSync(join(tmpdir(), 'hotcell-test-'));
writeFileSync(join(folder, 'secret'), `${SECRET}\n`, { mode: 0o600 });
const loopback = startLoopback();

afterAll(() => {
  loopback.close();
  remove();
  rmSync(folder, { recursive: true });
});

const secret = { file: join(folder, 'secret') };
const credential = (port: number, more: object = {}) =>
  ({ api: { url: `http://127.0.0.1:${port}`, secret, ...more } }) as NonNullable<HotcellOptions['credentials']>;

describe.each([TARGETS.shared, TARGETS.docker, TARGETS.gvisor])('in $name', async (target) => {
  const skipped = await reasonToSkip(target);

  test.skipIf(skipped !== undefined)('a credential is used, and found nowhere', async () => {
    const seen: unknown[] = [];
    const port = await loopback.listen(
      createServer(({ headers, url }, outgoing) => {
        seen.push([url, headers.authorization]);
        outgoing.end(JSON.stringify(headers));
      }),
    );
    await using hotcell = await openTarget(target, { credentials: credential(port), dataDir: home });
    await using session = await hotcell.open();
    expect(session.network.services()).toEqual(['api']);
    const { stdout, stderr } = await session.run(`
import os, urllib.request
print(urllib.request.urlopen(os.environ["HOTCELL_SERVICE_API"] + "/user?x=1").read().decode())
print(dict(os.environ))`);
    expect(stderr).toBe('');
    expect(seen).toEqual([['/user?x=1', `Bearer ${SECRET}`]]);
    expect(stdout).toContain(`Bearer ${'*'.repeat(SECRET.length)}`);
    expect(stdout).not.toContain(SECRET);
    // A session that asks for none finds nothing, and neither does a forged call of it.
    await using narrowed = await hotcell.open({ services: [] });
    const found = await narrowed.run('import os; print([name for name in os.environ if "SERVICE" in name])');
    expect(found.stdout).toBe('[]\n');
    await expect(hotcell.open({ services: ['other'] })).rejects.toMatchObject({ code: 'network_denied' });
  });

  test.skipIf(skipped !== undefined)('a connection to a forward lasts from one execution to the next', async () => {
    const port = await loopback.tcp((socket) => socket.on('data', (chunk) => socket.write(`>${chunk}`)));
    await using hotcell = await openTarget(target, { forwards: { db: `127.0.0.1:${port}` }, dataDir: home });
    await using session = await hotcell.open();
    await session.run(`
import os, socket
host, port = os.environ["HOTCELL_SERVICE_DB"].split(":")
connection = socket.create_connection((host, int(port)))
connection.sendall(b"one")`);
    expect((await session.run('connection.recv(10)')).value?.text).toBe("b'>one'");
    await session.run('connection.sendall(b"two")');
    expect((await session.run('connection.recv(10)')).value?.text).toBe("b'>two'");
  });
});

const noProcess = await reasonToSkip(TARGETS.shared);

describe('programs of the host in a jail', () => {
  const noPostgres = noProcess ?? reasonNoPostgres();
  if (requireAll()) test('can be tried', () => expect(noPostgres).toBeUndefined());

  test.skipIf(noPostgres !== undefined)('query PostgreSQL through a forward', async () => {
    const port = await freePort();
    await using _postgres = await startPostgres(SECRET, port);
    await using hotcell = await openTarget(TARGETS.shared, {
      forwards: { db: `127.0.0.1:${port}` },
      dataDir: home,
    });
    await using session = await hotcell.open();
    const query = 'SELECT count(*) FROM pg_database; CREATE TABLE t(x int); INSERT INTO t VALUES (41), (1);';
    const { stdout, stderr } = await session.run(
      `export PGPASSWORD=${SECRET}
psql -h "\${HOTCELL_SERVICE_DB%:*}" -p "\${HOTCELL_SERVICE_DB##*:}" -U hotcell -d postgres -qtA -c '${query} SELECT sum(x) FROM t'`,
      { language: 'bash' },
    );
    expect([stdout, stderr]).toEqual(['3\n42\n', '']);
  });

  test.skipIf(noProcess !== undefined)('clone a private git repository through a credential', async () => {
    const [origin, work] = [join(folder, 'private.git'), join(folder, 'work')];
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t.test', ...args], { stdio: 'pipe' });
    git('init', '-q', '-b', 'main', work);
    writeFileSync(join(work, 'README'), 'a private repository\n');
    git('-C', work, 'add', '.');
    git('-C', work, 'commit', '-qm', 'first');
    git('clone', '-q', '--bare', work, origin);
    const expected = `Basic ${Buffer.from(`robot:${SECRET}`).toString('base64')}`;
    const refused: unknown[] = [];
    const port = await loopback.listen(
      createServer((incoming, outgoing) => {
        if (incoming.headers.authorization !== expected) {
          refused.push(incoming.headers.authorization);
          return void outgoing.writeHead(401, { 'www-authenticate': 'Basic' }).end();
        }
        serveGit(incoming, outgoing);
      }),
    );
    await using hotcell = await openTarget(TARGETS.shared, {
      credentials: credential(port, { scheme: 'Basic', user: 'robot' }),
      dataDir: home,
    });
    await using session = await hotcell.open();
    const { stdout, stderr, outcome } = await session.run(
      'git clone -q $HOTCELL_SERVICE_API/private.git copy && cat copy/README && cat copy/.git/config',
      { language: 'bash' },
    );
    expect([outcome.kind, stderr, refused]).toEqual(['ok', '', []]);
    expect(stdout).toContain('a private repository');
    expect(stdout).not.toContain(SECRET);
  });
});

/** git's own CGI program behind an HTTP server. */
function serveGit(incoming: import('node:http').IncomingMessage, outgoing: import('node:http').ServerResponse): void {
  const url = new URL(incoming.url ?? '/', 'http://127.0.0.1');
  const cgi = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: incoming.method,
      CONTENT_TYPE: incoming.headers['content-type'] ?? '',
      ...(incoming.headers['content-encoding'] ? { HTTP_CONTENT_ENCODING: incoming.headers['content-encoding'] } : {}),
      ...(incoming.headers['git-protocol'] ? { GIT_PROTOCOL: String(incoming.headers['git-protocol']) } : {}),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  incoming.pipe(cgi.stdin);
  const chunks: Buffer[] = [];
  cgi.stdout.on('data', (chunk) => chunks.push(chunk));
  cgi.stdout.on('end', () => {
    const whole = Buffer.concat(chunks);
    const at = whole.indexOf('\r\n\r\n');
    const headers = whole.subarray(0, at).toString().split('\r\n');
    let status = 200;
    for (const line of headers) {
      const [name, value] = [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()];
      if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10);
      else outgoing.setHeader(name, value);
    }
    outgoing.writeHead(status).end(whole.subarray(at + 4));
  });
}
