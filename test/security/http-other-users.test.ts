import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildOnce } from '../support/built-program.ts';
import { CLI, nextLine, reasonNoOtherUsers, runAs, STRANGER, spawnAs, VICTIM } from '../support/other-user.ts';
import { type ServedHotcell, serveForTest, toolCall } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skipped = reasonNoOtherUsers() ?? (await reasonToSkip(TARGETS.shared));

/** Sends one request, and prints the status and the body. `leaving`: closes the connection without waiting for the answer. */
const CALL = `
const { connect } = require('node:net');
const { host, port, request, leaving } = JSON.parse(process.argv[1]);
let said = '';
const socket = connect({ host, port }, () => leaving ? socket.end(request, () => socket.destroy()) : socket.write(request));
socket.setEncoding('utf8').on('data', (text) => { said += text; if (/"id":1|unauthorized/.test(said)) socket.destroy(); }).on('error', () => {}).on('close', () => console.log(said));
`;

describe.skipIf(skipped !== undefined)(
  `other users of the machine, and a server without tokens${skipped === undefined ? '' : ` (skipped: ${skipped})`}`,
  () => {
    let folder: string;
    let hotcell: ServedHotcell;
    let open: ServedHotcell;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'hc-private-'));
      writeFileSync(join(folder, 'private.txt'), 'secret');
      hotcell = await serveForTest({ mountRoots: [folder] });
      open = await serveForTest({ mountRoots: [folder], isLocalCaller: async () => true });
    });
    afterAll(async () => {
      await hotcell[Symbol.asyncDispose]();
      await open[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    });

    const mounting = () =>
      toolCall('open_session', { mounts: [{ source: folder, target: '/data/x', read_only: false }] });

    async function callAs(uid: number, { port }: ServedHotcell, given: { token?: string; leaving?: boolean } = {}) {
      const { headers, body } = mounting();
      const head = {
        ...{ host: '127.0.0.1', connection: 'close', 'content-length': Buffer.byteLength(body as string), ...headers },
        ...(given.token === undefined ? {} : { authorization: `Bearer ${given.token}` }),
      };
      const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
      const request = `POST /mcp HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
      const argument = JSON.stringify({ host: '127.0.0.1', port, request, leaving: given.leaving === true });
      return (await runAs(uid, ['-e', CALL, argument])).stdout;
    }
    const openSessions = ({ server }: ServedHotcell) =>
      server.sessions.census().reduce((sum, { count }) => sum + count, 0);

    it('mount a folder of its user where users are not told apart', async () => {
      expect(await callAs(STRANGER, open)).toMatch(/^HTTP\/1.1 200 .*Opened/s);
      expect(openSessions(open)).toBe(1);
    });

    it('get nothing without a token, on any route', async () => {
      expect(await callAs(STRANGER, hotcell)).toMatch(/^HTTP\/1.1 401 .*another user of this machine/s);
      expect(openSessions(hotcell)).toBe(0);
    });

    it('get nothing by leaving, after which their connection belongs to nobody', async () => {
      for (let time = 0; time < 5; time += 1) await callAs(STRANGER, hotcell, { leaving: true });
      const { headers, body } = toolCall('open_session', { name: 'later' });
      await hotcell.send('POST', '/mcp', { headers: headers!, body: body! }); // takes as long as theirs
      expect(openSessions(hotcell)).toBe(1);
      await hotcell.server.sessions.closeAll(hotcell.nobody);
    });

    it('are served with a token, and the user of the server without', async () => {
      const { text } = await hotcell.tokens.create('other');
      expect(await callAs(STRANGER, hotcell, { token: text })).toMatch(/^HTTP\/1.1 200 /);
      expect(await callAs(0, hotcell)).toMatch(/^HTTP\/1.1 200 /);
    });
  },
);

/** Opens as many connections as the server takes, then sends a request on each, and prints the first lines of the answers. */
const CROWD = `
const { connect } = require('node:net');
const { port, request, count } = JSON.parse(process.argv[1]);
const said = [];
const sockets = Array.from({ length: count }, () => connect({ host: '127.0.0.1', port }).on('error', () => {}));
for (const socket of sockets) socket.setEncoding('utf8').on('data', (text) => said.push(text.split('\\r\\n')[0]));
Promise.all(sockets.map((socket) => new Promise((resolve) => socket.on('connect', resolve)))).then(() => {
  for (const socket of sockets) socket.write(request);
  setInterval(() => { if (said.length >= count / 4) { console.log(said.join('\\n')); process.exit(); } }, 50);
});
`;

describe.skipIf(skipped !== undefined)('other users of the machine, and a server that has no descriptor left', () => {
  it('get nothing because their connections cannot be looked up', { timeout: 60_000 }, async () => {
    buildOnce();
    const home = mkdtempSync(join(tmpdir(), 'hc-victim-'));
    chownSync(home, VICTIM, VICTIM);
    const limited = ['-c', 'ulimit -n 60; exec "$0" "$@"', process.execPath, CLI, 'serve', '--port', '0', '--json'];
    const env = { PATH: process.env.PATH, HOME: home };
    const server = spawn('sh', limited, { uid: VICTIM, gid: VICTIM, cwd: '/', env });
    try {
      const { url } = JSON.parse(await nextLine(server));
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
      const heads = [
        ...['POST /mcp HTTP/1.1', 'host: 127.0.0.1', 'content-type: application/json'],
        ...['accept: application/json, text/event-stream', `content-length: ${body.length}`],
      ];
      const request = `${heads.join('\r\n')}\r\n\r\n${body}`;
      const given = JSON.stringify({ port: Number(new URL(url).port), request, count: 60 });
      const { stdout } = await runAs(STRANGER, ['-e', CROWD, given]);
      expect(new Set(stdout.trim().split('\n'))).toEqual(new Set(['HTTP/1.1 401 Unauthorized']));
    } finally {
      server.kill('SIGKILL');
      await once(server, 'exit');
      rmSync(home, { recursive: true, force: true });
    }
  });
});

/** Listens in place of a server, prints its port and each request, and answers nothing. */
const LISTEN = `
const server = require('node:net').createServer((socket) => socket.on('data', (text) => console.log(String(text))));
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

const noUsers = reasonNoOtherUsers();

describe.skipIf(noUsers !== undefined)(
  `other users of the machine, and a user of the command line${noUsers === undefined ? '' : ` (skipped: ${noUsers})`}`,
  () => {
    let home: string;
    let listener: ChildProcess;
    let port: string;
    beforeAll(async () => {
      buildOnce();
      home = mkdtempSync(join(tmpdir(), 'hc-victim-'));
      chownSync(home, VICTIM, VICTIM);
      listener = spawnAs(STRANGER, ['-e', LISTEN]);
      port = await nextLine(listener);
    });
    afterAll(async () => {
      listener.kill('SIGKILL');
      await once(listener, 'exit');
      rmSync(home, { recursive: true, force: true });
    });

    it('get nothing of `hotcell shell` by listening on the default port', async () => {
      const { code, stderr } = await runAs(VICTIM, [CLI, 'shell', 's', '--token', 'hotcell_secret'], {
        env: { HOME: home, HOTCELL_PORT: port },
      });
      expect(stderr).toContain(`the server on port ${port} belongs to another user (uid ${STRANGER})`);
      expect(code).not.toBe(0);
    });

    it('do not see a token among the arguments of a program that runs', async () => {
      const server = `http://127.0.0.1:${port}`;
      const victim = spawnAs(VICTIM, [CLI, 'run', '-c', '1', '--server', server, '--token', 'hotcell_secret'], {
        env: { HOME: home },
      });
      expect(await nextLine(listener)).toContain('hotcell_secret'); // to the server that was named
      const shown = readFileSync(`/proc/${victim.pid}/cmdline`, 'utf8');
      victim.kill('SIGKILL');
      await once(victim, 'exit');
      expect(shown).toContain('--token …');
      expect(shown).not.toContain('hotcell_secret');
    });
  },
);
