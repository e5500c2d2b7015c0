import { expect } from 'vitest';
import { type Requirement, stdoutOf } from '../context.ts';

/** Sessions with a network, against servers of the test's own (test/support/online.ts). */
export const onlineRequirements: readonly Requirement[] = [
  {
    id: 'online:none',
    tag: 'driver',
    title: 'a session without a network has no proxy, no variable of one, and nothing that listens',
    exempt: { bare: 'it shares the network of the host, where others listen' },
    prove: async ({ online }) => {
      const { open } = await online();
      const session = await open('none');
      const found = await stdoutOf(
        session,
        `import os, re
print([name for name in os.environ if re.search("proxy|cert|CA_|CAINFO|NODE_OPTIONS", name, re.I)], len(open("/proc/net/tcp").readlines()) - 1)`,
      );
      expect(found).toBe('[] 0');
    },
  },
  {
    id: 'online:allowed',
    tag: 'driver',
    title:
      'programs that know nothing of Hotcell reach an allowed host, by HTTP and by HTTPS, and find its certificate',
    prove: async ({ online }) => {
      const { open, servers } = await online();
      const { http, https } = servers.ports;
      const session = await open([`web.test:${http}`, `web.test:${https}`]);
      const got = await stdoutOf(
        session,
        `import urllib.request
for url in ("http://web.test:${http}/plain", "https://web.test:${https}/tls"):
    print(urllib.request.urlopen(urllib.request.Request(url, data=b"again"), timeout=20).read().decode())`,
      );
      expect(got).toBe('hello again\nhello again');
      const command = await session.command(`curl -sS --max-time 20 https://web.test:${https}/curl`);
      expect(command).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'hello ' });
      const node = await session.run(
        `const response = await fetch('https://web.test:${https}/node'); await response.text()`,
        { language: 'javascript' },
      );
      expect(node).toMatchObject({ outcome: { kind: 'ok' }, value: { text: expect.stringContaining('hello ') } });
      expect(node.network).toBeUndefined();
    },
  },
  {
    id: 'online:refused',
    tag: 'driver',
    title: 'every other host, port and spelling is refused, the result names them, and no connection is made',
    prove: async ({ online }) => {
      const { open, servers } = await online();
      const { http, echo } = servers.ports;
      const session = await open([`web.test:${http}`]);
      const tries = [
        ...[`api.test:${http}`, `web.test:${echo}`, `web.test.evil.test:${http}`, `evilweb.test:${http}`],
        ...[
          `127.0.0.1:${http}`,
          `2130706433:${http}`,
          `0x7f.1:${http}`,
          `[::ffff:127.0.0.1]:${http}`,
          `localhost:${http}`,
        ],
        ...[
          `any.wild.test:${http}`,
          '169.254.169.254:80',
          `web.test\\x00.evil.test:${http}`,
          `web.test@evil.test:${http}`,
        ],
      ];
      servers.arrived.length = 0;
      const result = await session.run(
        `${CONNECT}\nfor target in ${JSON.stringify(tries).replaceAll('\\\\x00', '\\x00')}:\n    print(connect(target))`,
        { timeoutMs: 60_000 },
      );
      expect(result.outcome).toEqual({ kind: 'ok' });
      const statuses = result.stdout.trim().split('\n');
      expect(
        statuses.filter((status) => !/^40[03]$/.test(status)),
        result.stdout,
      ).toEqual([]);
      expect(servers.arrived).toEqual([]);
      const { refused } = result.network!;
      expect(refused).toContainEqual({ host: 'api.test', port: http, why: 'not-allowed' });
      expect(refused).toContainEqual({ host: 'web.test', port: echo, why: 'not-allowed' });
      // The same host, however it is written, is the one that a rule would have to name.
      expect(refused).toContainEqual({ host: '127.0.0.1', port: http, why: 'not-allowed' });
      const spelled = await session.run(`${CONNECT}\nprint(connect("WEB.test.:${http}"))`);
      expect(spelled.stdout).toBe('200\n');
    },
  },
  {
    id: 'online:private',
    tag: 'driver',
    title: 'a name that resolves to a private address is refused unless the operator named it, and is resolved once',
    prove: async ({ online }) => {
      const { open, servers } = await online();
      const { http } = servers.ports;
      const session = await open([`*.wild.test:${http}`, `web.test:${http}`]);
      servers.arrived.length = 0;
      const wild = await session.run(`${CONNECT}\nprint(connect("any.wild.test:${http}"))`);
      expect(wild).toMatchObject({
        stdout: '403\n',
        network: { refused: [{ host: 'any.wild.test', port: http, why: 'private-address' }] },
      });
      expect(servers.arrived).toEqual([]);
      servers.resolved.length = 0;
      expect((await session.run(`${CONNECT}\nprint(connect("web.test:${http}"))`)).stdout).toBe('200\n');
      expect(servers.resolved).toEqual(['web.test']);
    },
  },
  {
    id: 'online:set',
    tag: 'driver',
    title: 'a connection lives from one execution to the next, and ends when the setting no longer allows it',
    prove: async ({ online }) => {
      const { open, servers } = await online();
      const { echo, http } = servers.ports;
      const session = await open([`web.test:${echo}`]);
      await stdoutOf(
        session,
        `${CONNECT}\nheld = open_to("web.test:${echo}")\nheld.sendall(b"one"); print(held.recv(9))`,
      );
      expect(await stdoutOf(session, 'held.sendall(b"two"); print(held.recv(9).decode())')).toBe('two');
      await session.network.set([`web.test:${http}`]);
      expect(session.network.setting()).toEqual([`web.test:${http}`]);
      const after = `${ENDED}\nprint(is_over(held), connect("web.test:${echo}"), connect("web.test:${http}"))`;
      expect(await stdoutOf(session, after)).toBe('True 403 200');
      await session.network.set('none');
      expect(await stdoutOf(session, 'import os; print(os.environ.get("HTTPS_PROXY"))')).toBe('None');
      await session.network.set([`web.test:${echo}`]);
      expect(await stdoutOf(session, `${CONNECT}\nprint(connect("web.test:${echo}"))`)).toBe('200');
    },
  },
  {
    id: 'online:neighbour',
    tag: 'driver',
    title: 'what one session may reach is out of reach for another of the same owner, which has a network of its own',
    prove: async ({ online }) => {
      const { open, servers } = await online();
      const { http, echo } = servers.ports;
      const [one, two] = [await open([`web.test:${http}`]), await open([`web.test:${echo}`])];
      const both = `${CONNECT}\nprint(connect("web.test:${http}"), connect("web.test:${echo}"))`;
      expect(await Promise.all([stdoutOf(one, both), stdoutOf(two, both)])).toEqual(['200 403', '403 200']);
    },
  },
  {
    id: 'online:ceiling',
    tag: 'guest',
    title: 'no session gets more than the operator allows, neither when it opens nor later',
    prove: async ({ online }) => {
      const { open, servers } = await online();
      await expect(open('all')).rejects.toMatchObject({ code: 'network_denied', data: { exceeds: ['all'] } });
      const session = await open([`web.test:${servers.ports.http}`]);
      const more = session.network.set(['web.test:1', `web.test:${servers.ports.http}`]);
      await expect(more).rejects.toMatchObject({ code: 'network_denied', data: { exceeds: ['web.test:1'] } });
      expect(session.network.setting()).toEqual([`web.test:${servers.ports.http}`]);
    },
  },
  {
    id: 'online:faults',
    tag: 'guest',
    title: 'half requests, servers that never answer, never end or reset are the program’s affair; the session goes on',
    prove: async ({ online }) => {
      const { open, servers } = await online();
      const { silent, endless, cut, echo } = servers.ports;
      const session = await open([silent, endless, cut, echo].map((port) => `web.test:${port}`));
      const silence = await session.run(
        `import urllib.request\nurllib.request.urlopen("http://web.test:${silent}/", timeout=1)`,
      );
      expect(silence.outcome).toMatchObject({ kind: 'raised' });
      const flood = await session.run(
        `import urllib.request\nanswer = urllib.request.urlopen("http://web.test:${endless}/", timeout=20)\nprint(len(answer.read(30_000_000)))\nanswer.close()`,
      );
      expect(flood).toMatchObject({ outcome: { kind: 'ok' }, stdout: '30000000\n' });
      const broken = await session.run(
        `import urllib.request\nprint(urllib.request.urlopen("http://web.test:${cut}/", timeout=20).read())`,
      );
      expect(broken.outcome).toMatchObject({ kind: 'raised' });
      const halves = await session.run(
        `${CONNECT}\nfor half in (b"GET http://web", b"CONNECT web.test", b"\\x05", b"\\x05\\x01", b"\\x00" * 100, b"\\r\\n"):\n    sock = socket.create_connection(proxy); sock.sendall(half); sock.close()\nprint(connect("web.test:${echo}"))`,
      );
      expect(halves.stdout).toBe('200\n');
    },
  },
];

/** A client of the proxy that sends what it is told to, and mends nothing. */
const CONNECT = `import os, socket
host, _, port = os.environ["HOTCELL_PROXY"].partition(":")
proxy = (host, int(port))

def begin(target):
    sock = socket.create_connection(proxy, timeout=20)
    sock.sendall(f"CONNECT {target} HTTP/1.1\\r\\nHost: {target}\\r\\n\\r\\n".encode("latin-1"))
    head = b""
    while b"\\r\\n\\r\\n" not in head and (piece := sock.recv(1)):
        head += piece
    return sock, head.split()[1].decode() if head else "closed"

def open_to(target):
    return begin(target)[0]

def connect(target):
    sock, status = begin(target)
    sock.close()
    return status
`;

const ENDED = `def is_over(sock):
    sock.settimeout(20)
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True
`;
