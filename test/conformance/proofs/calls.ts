import { expect } from 'vitest';
import { type Requirement, stdoutOf } from '../context.ts';

/** Calls from the sandbox to the host, by methods that only tests have (test/support/test-methods.ts). */
export const callRequirements: readonly Requirement[] = [
  {
    id: 'calls:none',
    tag: 'driver',
    title: 'where the host serves no calls, nothing listens for them, and no variable names an address',
    exempt: { bare: 'it shares the network namespace of the host, where others listen' },
    prove: async ({ fresh }) => {
      const session = await fresh({ mayInstall: false });
      expect(await stdoutOf(session, `${LISTENERS}\nprint(os.environ.get("HOTCELL_CALLS"), listeners)`)).toBe('None 0');
    },
  },
  {
    id: 'calls:any-process',
    tag: 'driver',
    title: 'any process can call, with arguments and results larger than a head, and the host knows its execution',
    prove: async ({ calling }) => {
      const { session } = await calling();
      const large = await session.run(
        `${CLIENT}\nsent = "ä" * 300_000\nprint(call("echo", {"text": sent})["text"] == sent)`,
      );
      expect(large).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'True\n' });
      const kernel = session.run(`${CLIENT}\nprint(call("who")["execution"])`);
      expect(await kernel).toMatchObject({ stdout: `${kernel.id}\n` });
      // A program that knows nothing of the guest, and has left its parent and its session.
      const daemon = session.run(
        `${WRITE_PROGRAM}\nimport subprocess\nsubprocess.run("(setsid python3 caller.py who > said &)", shell=True)\n${waitFor('said')}\nprint(open("said").read())`,
      );
      expect(JSON.parse((await daemon).stdout)).toMatchObject({ execution: daemon.id, session: session.uniqueId });
      const bash = session.run('python3 caller.py who', { language: 'bash' });
      expect(JSON.parse((await bash).stdout)).toMatchObject({ execution: bash.id });
      const command = session.command('python3 caller.py who');
      expect(JSON.parse((await command).stdout)).toMatchObject({ execution: command.id });
    },
  },
  {
    id: 'calls:background',
    tag: 'driver',
    title: 'a process that outlives its execution calls for the session, and never for another execution',
    prove: async ({ calling }) => {
      const { session } = await calling();
      await session.run(
        `${WRITE_PROGRAM}\nimport subprocess\nsubprocess.Popen("while [ ! -e go ]; do sleep 0.05; done; python3 caller.py who > said.new; mv said.new said", shell=True, start_new_session=True)`,
      );
      // What is born while another execution of the same kernel runs belongs to that one, whoever its parent is.
      const later = session.run(`open("go", "w").close()\n${waitFor('said')}\nprint(open("said").read())`);
      expect(JSON.parse((await later).stdout)).toMatchObject({ execution: later.id });
      await session.run(
        `import subprocess\nsubprocess.Popen("while [ ! -e go2 ]; do sleep 0.05; done; exec python3 caller.py who > said2.new", shell=True, start_new_session=True)`,
      );
      await session.files.write('go2', 'now');
      await expect.poll(async () => String(await session.files.read('said2.new')), { timeout: 20_000 }).toContain('}');
      expect(JSON.parse(String(await session.files.read('said2.new')))).toMatchObject({ execution: null });
    },
  },
  {
    id: 'calls:stream',
    tag: 'driver',
    title: 'bytes go both ways at once and in order, with half-close',
    prove: async ({ calling, target }) => {
      const { session } = await calling();
      const pieces = target.slow === true ? 40 : 160;
      const code = `${CLIENT}
import hashlib, os, threading
made = Call("pipe")
print(made.result())
sent, got = hashlib.sha256(), hashlib.sha256()
def write():
    for _ in range(${pieces}):
        data = os.urandom(50_000)
        sent.update(data)
        made.write(data)
    made.close_write()
writer = threading.Thread(target=write)
writer.start()
data = made.read()
rest = b""
while data:
    rest = (rest + data)
    got.update(rest[:-7])
    rest = rest[-7:]
    data = made.read()
writer.join()
made.result(whole=True)
print(got.hexdigest() == sent.hexdigest(), rest)`;
      expect(await stdoutOf(session, code, 60_000)).toBe("{'open': True}\nTrue b'the end'");
    },
  },
  {
    id: 'calls:backpressure',
    tag: 'driver',
    title: 'a caller that writes more than the host reads waits, and others do not',
    prove: async ({ calling }) => {
      const { session, tests } = await calling();
      const running = session.run(`${CLIENT}
import threading
written = [0]
made = Call("unread", {"name": "backpressure"})
def write():
    for _ in range(400):
        made.write(b"x" * 50_000)
        written[0] += 50_000
    made.close_write()
writer = threading.Thread(target=write)
writer.start()
before = -1
while written[0] != before:
    before = written[0]
    time.sleep(0.5)
    call("echo", 1)
print(written[0] < 4_000_000, flush=True)
open("full", "w").close()
writer.join()
print(made.result())`);
      await expect
        .poll(() => session.files.list().then(({ entries }) => entries.some(({ path }) => path === 'full')), {
          timeout: 20_000,
        })
        .toBe(true);
      tests.gate('backpressure').released.resolve();
      expect(await running).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'True\n20000000\n' });
    },
  },
  {
    id: 'calls:threads',
    tag: 'guest',
    title: 'many threads wait in calls at once, and each gets its own result',
    prove: async ({ calling }) => {
      const { session, tests } = await calling();
      const running = session.run(`${CLIENT}
import concurrent.futures as futures
with futures.ThreadPoolExecutor(21) as pool:
    gates = [pool.submit(call, "gate", {"name": "threads"}) for _ in range(20)]
    print([pool.submit(call, "echo", index).result() for index in range(5)])
    print({gate.result() for gate in gates})`);
      await expect.poll(() => tests.waiting(), { timeout: 20_000 }).toBe(20);
      tests.gate('threads').released.resolve();
      expect(await running).toMatchObject({ outcome: { kind: 'ok' }, stdout: "[0, 1, 2, 3, 4]\n{'through'}\n" });
    },
  },
  {
    id: 'calls:javascript',
    tag: 'guest',
    title: 'JavaScript calls as Python does: results, errors, bytes both ways, many at once, and an interrupt',
    prove: async ({ calling }) => {
      const { session, tests } = await calling();
      const javascript = { language: 'javascript' };
      const code = `const { call, openCall } = __hotcellCalls;
const large = 'ä'.repeat(300_000);
console.log((await call('echo', { large })).large === large, await call('echo'));
console.log((await Promise.all([1, 2, 3].map((value) => call('echo', value)))).join());
console.log(await call('secret').catch((error) => error.code), await call('nope').catch(({ code }) => code));
const pipe = openCall('pipe');
console.log((await pipe.result).open);
const writing = (async () => {
  for (let piece = 0; piece < 40; piece += 1) await pipe.write(Buffer.alloc(50_000, 'x'));
  await pipe.end();
})();
let read = '';
for await (const piece of pipe) read += piece;
await writing;
await pipe.done;
console.log(read === 'x'.repeat(2_000_000) + 'the end');`;
      const whole = await session.run(code, javascript);
      expect(whole.outcome).toEqual({ kind: 'ok' });
      expect(whole).toMatchObject({
        outcome: { kind: 'ok' },
        stdout: 'true null\n1,2,3\nfailed unknown-method\ntrue\ntrue\n',
        stderr: '',
      });
      const controller = new AbortController();
      const options = { ...javascript, signal: controller.signal };
      const waiting = session.run(`await __hotcellCalls.call('gate', { name: 'javascript' })`, options);
      expect(await tests.gate('javascript').entered.promise).toBe(waiting.id);
      controller.abort();
      expect(await waiting).toMatchObject({ outcome: { kind: 'interrupted' }, state: 'kept' });
      expect(['cancelled', 'execution-ended']).toContain(await tests.gate('javascript').ended.promise);
      expect(await session.run('large.length', javascript)).toMatchObject({ value: { text: '300000' }, stderr: '' });
    },
  },
  {
    id: 'calls:fork',
    tag: 'guest',
    title: "a forked child gets an error instead of its parent's result, and can make calls of its own",
    prove: async ({ calling }) => {
      const { session } = await calling();
      const code = `${CLIENT}
import os
made = Call("echo", "for the parent")
child = os.fork()
if child == 0:
    try:
        made.result()
    except CallError as error:
        open("child", "w").write(f"{error.code} {call('echo', 'for the child')}")
    os._exit(0)
os.waitpid(child, 0)
print(made.result(), "|", open("child").read())`;
      expect(await stdoutOf(session, code)).toBe('for the parent | forked for the child');
    },
  },
  {
    id: 'calls:ends-with-execution',
    tag: 'driver',
    title: 'a call ends with its execution on both sides, and one of the background does not',
    prove: async ({ calling }) => {
      const { session, tests } = await calling();
      const execution = session.run(`${CLIENT}
import threading
def wait():
    try:
        call("gate", {"name": "of-execution"})
    except CallError as error:
        open("ended", "w").write(error.code)
threading.Thread(target=wait, daemon=True).start()
${waitFor('go')}`);
      expect(await tests.gate('of-execution').entered.promise).toBe(execution.id);
      await session.files.write('go', '');
      await execution;
      expect(['cancelled', 'execution-ended']).toContain(await tests.gate('of-execution').ended.promise);
      await expect
        .poll(() => session.files.read('ended').then(String, () => ''), { timeout: 10_000 })
        .toBe('execution-ended');
      await session.run(
        `${WRITE_PROGRAM}\nimport subprocess\nsubprocess.Popen("while [ ! -e later ]; do sleep 0.05; done; exec python3 caller.py gate '{\\"name\\": \\"of-none\\"}' > through", shell=True, start_new_session=True)`,
      );
      await session.files.write('later', '');
      expect(await tests.gate('of-none').entered.promise).toBe(null);
      await session.run('1');
      tests.gate('of-none').released.resolve();
      await expect
        .poll(() => session.files.read('through').then(String, () => ''), { timeout: 10_000 })
        .toBe('"through"\n');
    },
  },
  {
    id: 'calls:interrupt',
    tag: 'driver',
    title: 'an interrupt ends the wait for a call, cancels it on the host, and keeps the state',
    prove: async ({ calling }) => {
      const { session, tests } = await calling();
      const controller = new AbortController();
      const running = session.run(`${CLIENT}\nkept = 1\ncall("gate", {"name": "interrupt"})`, {
        signal: controller.signal,
      });
      await tests.gate('interrupt').entered.promise;
      controller.abort();
      expect(await running).toMatchObject({ outcome: { kind: 'interrupted' }, state: 'kept' });
      expect(['cancelled', 'execution-ended']).toContain(await tests.gate('interrupt').ended.promise);
      expect(await stdoutOf(session, 'print(kept, call("echo", 2))')).toBe('1 2');
    },
  },
  {
    id: 'calls:killed',
    tag: 'driver',
    title: 'a caller that is killed cancels its call',
    prove: async ({ calling }) => {
      const { session, tests } = await calling();
      await session.run(
        `${WRITE_PROGRAM}\nimport subprocess\nchild = subprocess.Popen(["python3", "caller.py", "gate", '{"name": "killed"}'])`,
      );
      await tests.gate('killed').entered.promise;
      await session.run('child.kill()');
      expect(['cancelled', 'execution-ended']).toContain(await tests.gate('killed').ended.promise);
    },
  },
  {
    id: 'calls:clock',
    tag: 'driver',
    title: 'a call that waits for somebody else pauses the timeout; another one does not, nor does CPU time',
    prove: async ({ calling }) => {
      const { session, tests } = await calling();
      const paused = session.run(`${CLIENT}\nprint(call("gate", {"name": "clock"}))`, { timeoutMs: 4_000 });
      await tests.gate('clock').entered.promise;
      setTimeout(() => tests.gate('clock').released.resolve(), 4_500);
      expect(await paused).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'through\n' });
      const plain = session.run('call("plain-gate", {"name": "plain-clock"})', { timeoutMs: 1_000 });
      expect((await plain).outcome).toEqual({ kind: 'timed-out', limitMs: 1_000 });
      const busy = await session.run(
        'import threading\nthreading.Thread(target=call, args=("gate", {"name": "busy"}), daemon=True).start()\nwhile True: pass',
        { timeoutMs: 2_000 },
      );
      expect(busy.outcome).toEqual({ kind: 'timed-out', limitMs: 2_000 });
    },
  },
  {
    id: 'calls:lies',
    tag: 'driver',
    title: 'a caller that forges members, breaks the order or sends no frames hurts nobody but itself',
    prove: async ({ calling }) => {
      const { session } = await calling();
      const code = `${CLIENT}
import json, os, socket
from hotcell_guest.wire.frames import Frame, FrameDecoder, encode
def attempt(*parts):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect("\\0" + os.environ["HOTCELL_CALLS"][1:])
        data = b""
        try:
            for part in parts:
                sock.sendall(part)
        except OSError:
            pass
        try:
            while piece := sock.recv(65_536):
                data += piece
        except OSError:
            pass
    frames = list(FrameDecoder().feed(data))
    result = b"".join(frame.body for frame in frames if frame.head["type"] == "result")
    reply = frames[-1].head if frames else {}
    return reply.get("error", {}).get("code") or json.loads(result)
def frame(head, body=b"", stream=0, sequence=0):
    return encode(Frame(head, body, stream, sequence))
begin, end = frame({"type": "call", "method": "echo"}), frame({"type": "argument", "end": True}, b"1")
forged = {"type": "call", "method": "who", "id": 7, "stream": 2, "execution": "x-other", "owner": "root", "session": "s-other"}
who = attempt(frame(forged, b"", 2, 9), frame({"type": "argument", "end": True, "owner": "root"}))
print(who["execution"] != "x-other", who["owner"], who["session"] != "s-other")
print(attempt(b"GET / HTTP/1.1\\r\\n\\r\\n" * 4), attempt(end), attempt(frame({"type": "call", "method": 3})))
print(attempt(begin, frame({"type": "chunk", "end": False}, b"x")), attempt(begin, begin), attempt(frame({"type": "call", "method": "m" * 300})))
print(attempt(begin, frame({"type": "argument", "end": False}, b"x" * 1_000_000)), attempt(frame({"type": "finished"})))
print(attempt(begin, end), call("echo", "unharmed"))
for method in ("nope", "secret"):
    try:
        call(method)
    except CallError as error:
        print(error)`;
      expect((await stdoutOf(session, code)).split('\n')).toEqual([
        'True local True',
        'bad-request bad-request bad-request',
        'bad-request bad-request bad-request',
        'bad-request bad-request',
        '1 unharmed',
        'this host has no method of that name (unknown-method)',
        'the call failed on the host (failed)',
      ]);
    },
  },
  {
    id: 'calls:flood',
    tag: 'driver',
    title: 'more callers than there are places wait their turn; another session is served meanwhile',
    prove: async ({ calling }) => {
      const [{ session, tests }, other] = [await calling(), await calling()];
      await session.run(WRITE_PROGRAM);
      const flood = session.run(`${CLIENT}
import threading
outcomes = []
def wait():
    try:
        outcomes.append(call("gate", {"name": "flood"}))
    except (CallError, OSError) as error:
        outcomes.append(repr(error))
threads = [threading.Thread(target=wait) for _ in range(150)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print({outcome: outcomes.count(outcome) for outcome in outcomes})`);
      await expect.poll(() => tests.waiting(), { timeout: 30_000 }).toBe(128);
      expect(await stdoutOf(other.session, `${CLIENT}\nprint([call("echo", index) for index in range(20)][-1])`)).toBe(
        '19',
      );
      expect(tests.waiting()).toBe(128);
      tests.gate('flood').released.resolve();
      expect(await flood).toMatchObject({ outcome: { kind: 'ok' }, stdout: "{'through': 150}\n" });
    },
  },
];

const CLIENT = 'import time\nfrom hotcell_guest.wire.calling import Call, CallError, call';
const LISTENERS =
  'import os\nlisteners = open("/proc/net/unix").read().count("hotcell-calls") if os.path.exists("/proc/net/unix") else 0';

/** A program of its own: the protocol of section 10, by hand. */
const PROGRAM = `import json, os, socket, struct, sys
sock = socket.socket(socket.AF_UNIX)
sock.connect("\\0" + os.environ["HOTCELL_CALLS"][1:])
def send(head, body=b""):
    text = json.dumps(head).encode()
    sock.sendall(struct.pack(">2sBBIIIII", b"HC", 1, 0, len(text), len(body), 0, 0, 0) + text + body)
def exactly(size):
    data = b""
    while len(data) < size:
        data += sock.recv(size - len(data))
    return data
send({"type": "call", "method": sys.argv[1]})
send({"type": "argument", "end": True}, (sys.argv[2] if len(sys.argv) > 2 else "").encode())
while True:
    _, _, _, head_bytes, body_bytes, _, _, _ = struct.unpack(">2sBBIIIII", exactly(24))
    head, body = json.loads(exactly(head_bytes)), exactly(body_bytes)
    if head["type"] == "result":
        print(body.decode(), flush=True)
    if head["type"] == "reply":
        break
`;
const WRITE_PROGRAM = `open("caller.py", "w").write(${JSON.stringify(PROGRAM)})`;

function waitFor(file: string): string {
  return `import os, time\nwhile not (os.path.exists("${file}") and (os.path.getsize("${file}") or "${file}" == "go")): time.sleep(0.02)`;
}
