import { expect } from 'vitest';
import type { Exchange } from '../../../src/broker/method.ts';
import { deferred } from '../../../src/lib/deferred.ts';
import { CLOSED, openNetworkSandbox, PROXY } from '../../support/network-sandbox.ts';
import { type Requirement, stdoutOf } from '../context.ts';

/** The guest's side of the network: listeners on the loopback of a sandbox, whose connections a host serves that the proof plays. */
export const proxyRequirements: readonly Requirement[] = [
  {
    id: 'proxy:none',
    tag: 'driver',
    title: 'a sandbox without a network listens on no port, and no variable names one',
    exempt: { bare: 'it shares the network namespace of the host, where others listen' },
    prove: async ({ fresh }) => {
      const session = await fresh();
      const code = `${LISTENING}\nprint(listening(), [name for name in os.environ if "proxy" in name.lower()])`;
      expect(await stdoutOf(session, code)).toBe('0 []');
    },
  },
  {
    id: 'proxy:protocols',
    tag: 'driver',
    title:
      'CONNECT, SOCKS5 with names and addresses, plain HTTP, forwards and credentials are calls of the host, and its refusals are said in the words of each',
    prove: async ({ target }) => {
      await using sandbox = await openNetworkSandbox(target);
      const listen = [...PROXY.listen, { name: 'db', kind: 'forward' }, { name: 'keys', kind: 'credentials' }] as const;
      await sandbox.live.network({ listen, variables: { ...PROXY.variables, DB: '{db}', KEYS: '{keys}' } });
      const said = await sandbox.run(`${LISTENING}
${CLIENT}
print(listening() >= 3)
say(connected(b"echo.test:443", b"early"), b"more")
for address in (b"\\x03\\x09echo.test", b"\\x01\\x7f\\x00\\x00\\x01", b"\\x04" + bytes(15) + b"\\x01"): socks(address)
for host in (b"refused", b"slow", b"crowded", b"unknown"): print(refusal(host + b".test:443"))
print(whole(PROXY, b"GET http://plain.test/x HTTP/1.1\\r\\n\\r\\n")[-32:])
print(whole("KEYS", b"GET /name/x HTTP/1.1\\r\\n\\r\\n")[-33:])
s = connection("DB"); s.sendall(b"query"); print(s.recv(100))
print(whole(PROXY, b"CONNECT nothing HTTP/1.1\\r\\n\\r\\n")[:13], whole(PROXY, b"\\x05\\x01\\x02"))`);
      expect(said.split('\n')).toEqual([
        'True',
        "b'earlymore|end'",
        "b'\\x05\\x00\\x05\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00hi'",
        "b'\\x05\\x00\\x05\\x04\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00'",
        "b'\\x05\\x00\\x05\\x04\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00'",
        "b'HTTP/1.1 403 refused.test:443 is not allowed??Injected: yes'",
        "b'HTTP/1.1 504 the server did not answer'",
        "b'HTTP/1.1 503 too many connections'",
        "b'HTTP/1.1 502 no such host'",
        "b'GET http://plain.test/x HTTP/1.1'",
        "b'credentials: GET /name/x HTTP/1.1'",
        "b'query'",
        "b'HTTP/1.1 400 ' b'\\x05\\xff'",
      ]);
      const connects = sandbox.asked
        .filter(({ method }) => method === 'network.connect')
        .map(({ argument }) => argument);
      expect(connects.slice(0, 4)).toEqual([
        { host: 'echo.test', port: 443 },
        { host: 'echo.test', port: 80 },
        { host: '127.0.0.1', port: 80 },
        { host: '::1', port: 80 },
      ]);
      expect(sandbox.asked.filter(({ method }) => method === 'network.forward')).toMatchObject([
        { argument: { name: 'db' } },
      ]);
    },
  },
  {
    id: 'proxy:bytes',
    tag: 'driver',
    title: 'bytes go both ways at once and in order, with half-close, and a side that does not read stops the other',
    prove: async ({ target }) => {
      const stuck = { entered: deferred<Exchange>(), released: deferred<void>() };
      await using sandbox = await openNetworkSandbox(target, {
        routes: {
          stuck: async (exchange) => {
            await exchange.result({});
            stuck.entered.resolve(exchange);
            await stuck.released.promise;
            let bytes = 0;
            for await (const piece of exchange.input) bytes += piece.length;
            await exchange.write(Buffer.from(String(bytes)));
            await exchange.end();
          },
        },
      });
      await sandbox.live.network(PROXY);
      const megabytes = target.slow === true ? 8 : 24;
      const exchanged = await sandbox.run(`${CLIENT}
import hashlib, threading
s = connected(b"echo.test:443")
sent, got, last = hashlib.sha256(), hashlib.sha256(), b""
def write():
    for _ in range(${megabytes}):
        data = os.urandom(1_000_000)
        sent.update(data)
        s.sendall(data)
    s.shutdown(socket.SHUT_WR)
writer = threading.Thread(target=write)
writer.start()
while data := s.recv(300_000):
    last += data
    got.update(last[:-4])
    last = last[-4:]
writer.join()
print(got.digest() == sent.digest(), last)
s = connected(b"greeter.test:443")
print(s.recv(100), s.recv(100))`);
      expect(exchanged.split('\n')).toEqual(["True b'|end'", "b'hello first' b''"]);
      // A program that writes blocks while nobody reads, and goes on as soon as somebody does.
      await sandbox.run(`s = connected(b"stuck.test:443")
s.setblocking(False)
written, quiet = 0, time.monotonic()
while time.monotonic() - quiet < 1:
    try:
        written += s.send(bytes(100_000))
        quiet = time.monotonic()
    except BlockingIOError: time.sleep(0.01)
assert written < 60_000_000, written`);
      const other = await sandbox.run(`say(connected(b"echo.test:443"), b"beside")`);
      expect(other).toBe("b'beside|end'");
      stuck.released.resolve();
      expect(
        await sandbox.run('s.setblocking(True); s.shutdown(socket.SHUT_WR); print(int(s.recv(100)) == written)'),
      ).toBe('True');
    },
  },
  {
    id: 'proxy:ends',
    tag: 'driver',
    title:
      'a connection that breaks is reset, and one whose program goes away, or whose listener is closed, ends its call',
    prove: async ({ target }) => {
      await using sandbox = await openNetworkSandbox(target);
      const ports = await sandbox.live.network(PROXY);
      const broken = await sandbox.run(`${CLIENT}
s = connected(b"broken.test:443")
got = b""
try:
    while data := s.recv(100): got += data
    print("ended")
except ConnectionResetError: print("reset", got[:4] in (b"half", b""))`);
      expect(broken).toBe('reset True');
      // The host is still connecting when the program gives up; another is killed with its connection open.
      await sandbox.run(`s = connection(PROXY); s.sendall(b"CONNECT hang.test:443 HTTP/1.1\\r\\n\\r\\n")
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import socket, sys, time; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.sendall(b'CONNECT echo.test:443 HTTP/1.1\\\\r\\\\n\\\\r\\\\n'); s.recv(100); time.sleep(1000)", port(PROXY)])`);
      await expect.poll(() => sandbox.open()).toBe(2);
      await sandbox.run('s.close(); child.kill(); child.wait()');
      await expect.poll(() => sandbox.open()).toBe(0);
      // Closed, and open again on the same port.
      await sandbox.run('s = connected(b"echo.test:443")');
      await sandbox.live.network(CLOSED);
      await expect.poll(() => sandbox.open()).toBe(0);
      const late = `print(socket.create_connection(("127.0.0.1", ${ports.proxy})).recv(1))
try: print(s.recv(10))
except ConnectionResetError: print("reset")`;
      expect(await sandbox.run(late)).toBe("b''\nreset");
      expect(await sandbox.live.network(PROXY)).toEqual(ports);
      expect(await sandbox.run('say(connected(b"echo.test:443"), b"again")')).toBe("b'again|end'");
    },
  },
  {
    id: 'proxy:crowd',
    tag: 'driver',
    title: '256 connections are open at once, further ones are told so, and one that ends makes room for another',
    prove: async ({ target }) => {
      await using sandbox = await openNetworkSandbox(target);
      await sandbox.live.network(PROXY);
      const told = await sandbox.run(`${CLIENT}
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
crowd = [connected(b"echo.test:443") for _ in range(256)]
print(refusal(b"echo.test:443")[:13])
say(crowd.pop(), b"last")
deadline = time.monotonic() + 20
while refusal(b"echo.test:443")[:13] != b"HTTP/1.1 200 " and time.monotonic() < deadline: time.sleep(0.05)
print(time.monotonic() < deadline)
for s in crowd: s.close()`);
      expect(told.split('\n')).toEqual(["b'HTTP/1.1 503 '", "b'last|end'", 'True']);
      await expect.poll(() => sandbox.open()).toBe(0);
    },
  },
  {
    id: 'proxy:variables',
    tag: 'guest',
    title: 'kernels that live, those that start later and commands see the variables, from their next execution on',
    prove: async ({ target }) => {
      await using sandbox = await openNetworkSandbox(target);
      const asked: Readonly<Record<string, string>> = {
        python: 'import os; print(os.environ.get("HTTPS_PROXY", "none"))',
        bash: 'printenv HTTPS_PROXY || echo none',
        javascript: 'console.log(process.env.HTTPS_PROXY ?? "none")',
        command: 'printenv HTTPS_PROXY || echo none',
      };
      const seen = async () => {
        const said = new Set<string>();
        for (const [language, code] of Object.entries(asked)) said.add(await sandbox.run(code, language));
        return [...said];
      };
      expect(await seen()).toEqual(['none']);
      const { proxy } = await sandbox.live.network(PROXY);
      expect(await seen()).toEqual([`http://127.0.0.1:${proxy}`]);
      await sandbox.live.network(CLOSED);
      expect(await seen()).toEqual(['none']);
    },
  },
  {
    id: 'proxy:node',
    tag: 'driver',
    title: 'fetch of Node goes through the proxy, in a kernel that was there before and in a program of a command',
    prove: async ({ target }) => {
      await using sandbox = await openNetworkSandbox(target, {
        routes: {
          web: async (exchange) => {
            await exchange.result({});
            for await (const piece of exchange.input) if (piece.includes('\r\n\r\n')) break;
            await exchange.write(
              Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nserved'),
            );
            await exchange.end();
          },
        },
      });
      const code = 'fetch("http://web.test/").then((reply) => reply.text(), () => "none").then(console.log)';
      expect(await sandbox.run(code, 'javascript')).toBe('none');
      await sandbox.live.network(PROXY);
      expect(await sandbox.run(code, 'javascript')).toBe('served');
      expect(await sandbox.run(`node -e '${code}' 2>/dev/null`, 'command')).toBe('served');
    },
  },
];

/** Counts the ports that are listened on. */
const LISTENING = `import os
def listening():
    lines = [line.split() for name in ("tcp", "tcp6") for line in open("/proc/net/" + name).readlines()[1:]]
    return sum(line[3] == "0A" for line in lines)`;

const CLIENT = `import os, socket, time
PROXY = "HTTPS_PROXY"
def port(variable):
    return os.environ[variable].rsplit(":", 1)[-1]
def connection(variable):
    return socket.create_connection(("127.0.0.1", int(port(variable))))
def connected(target, early=b""):
    s = connection(PROXY)
    s.sendall(b"CONNECT " + target + b" HTTP/1.1\\r\\n\\r\\n" + early)
    head = b""
    while not head.endswith(b"\\r\\n\\r\\n"): head += s.recv(1)
    assert head.startswith(b"HTTP/1.1 200 "), head
    return s
def rest(s):
    got = b""
    while data := s.recv(65_536): got += data
    return got
def say(s, data):
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
    print(rest(s))
def whole(variable, request):
    s = connection(variable)
    s.sendall(request)
    return rest(s)
def refusal(target):
    s = connection(PROXY)
    s.sendall(b"CONNECT " + target + b" HTTP/1.1\\r\\n\\r\\n")
    return s.recv(4_096).split(b"\\r\\n")[0]
def socks(address):
    s = connection(PROXY)
    s.sendall(b"\\x05\\x01\\x00\\x05\\x01\\x00" + address + b"\\x00\\x50hi")
    got = b""
    while len(got) < 14 and (data := s.recv(14 - len(got))): got += data
    print(got)`;
