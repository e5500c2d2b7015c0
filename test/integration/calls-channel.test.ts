import { writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createBroker } from '../../src/broker/broker.ts';
import { createCollector, DEFAULT_OUTPUT_LIMITS } from '../../src/execution/collect.ts';
import { runInGuest } from '../../src/execution/run.ts';
import { connectGuest } from '../../src/guest/connect.ts';
import type { GuestConnection } from '../../src/guest/connection.ts';
import type { CallServer } from '../../src/guest/live-sandbox.ts';
import { nothing } from '../../src/guest/messages.ts';
import { PYTHON } from '../../src/languages/table.ts';
import { type ListeningGuest, startListeningGuest } from '../support/listening-guest.ts';
import { createTestMethods, type TestMethods } from '../support/test-methods.ts';

/** Calls from a real guest whose channel ends. */

const CLIENT = `import os, time
from hotcell_guest.wire.calling import Call, CallError, call
def attempt(*given):
    try:
        return call(*given)
    except CallError as error:
        return error.code
def wait_for(name):
    while not os.path.exists(name): time.sleep(0.01)
`;
let guest: ListeningGuest;

afterEach(async () => {
  await guest?.[Symbol.asyncDispose]();
});

test('a call fails on both sides when the channel is lost, and the next one on another channel works', async () => {
  const { connection, socket, tests, begun } = await host();
  const { end, collector } = run(
    connection,
    `${CLIENT}print(attempt("gate", {"name": "lost"}))\nprint(attempt("echo", 1))\nopen("failed", "w").close()\nwait_for("go")\nprint(attempt("echo", 2))`,
  );
  await tests.gate('lost').entered.promise;
  socket.destroy();
  expect(await tests.gate('lost').ended.promise).toBe('channel-lost');
  // Nothing waits for a channel: a call without one fails at once.
  await guest.fileAppears('failed');
  await connection.reconnect(await guest.connect());
  await writeFile(join(guest.workspace, 'go'), '');
  expect(await end).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'ok' } } });
  expect(collector.parts().stdout).toBe('channel-lost\nchannel-lost\n2\n');
  expect(begun()).toEqual(['gate', 'echo']);
  expect(tests.waiting()).toBe(0);
});

test('bytes that were on their way when the channel was lost reach no other call', async () => {
  const { connection, socket, tests } = await host();
  const { end, collector } = run(
    connection,
    `${CLIENT}
made = Call("unread", {"name": "never"})
try:
    open("writing", "w").close()
    while True: made.write(b"x" * 50_000)
except CallError as error:
    print(error.code)
open("failed", "w").close()
wait_for("go")
made = Call("pipe")
made.write(b"mine")
made.close_write()
print(made.read(), made.read(), made.read())`,
  );
  await guest.fileAppears('writing');
  socket.destroy();
  await guest.fileAppears('failed');
  await connection.reconnect(await guest.connect());
  await writeFile(join(guest.workspace, 'go'), '');
  expect(await end).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'ok' } } });
  expect(collector.parts().stdout).toMatch(/^channel-lost\nb'mine(the end)?' /);
  tests.gate('never').released.resolve();
});

test('after a takeover no call is pending: the caller is told, and the next host sees none of it', async () => {
  const first = await host();
  run(
    first.connection,
    `${CLIENT}import threading
def wait():
    open("said", "w").write(attempt("gate", {"name": "taken"}))
    open("told", "w").close()
threading.Thread(target=wait).start()
wait_for("never")`,
  );
  await first.tests.gate('taken').entered.promise;
  const second = await host({ fresh: true });
  expect(await first.tests.gate('taken').ended.promise).toBe('channel-lost');
  await guest.fileAppears('told');
  const { end, collector } = run(second.connection, 'print(open("said").read(), attempt("echo", 3))');
  expect(await end).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'ok' } } });
  expect(collector.parts().stdout).toBe('channel-lost 3\n');
  expect(second.begun()).toEqual(['echo']);
});

interface Host {
  readonly connection: GuestConnection;
  readonly socket: Socket;
  readonly tests: TestMethods;
  /** The methods of the calls that have reached this host. */
  begun(): readonly string[];
}

async function host({ fresh = false } = {}): Promise<Host> {
  if (!fresh) guest = await startListeningGuest();
  const tests = createTestMethods();
  const methods: string[] = [];
  let serve!: CallServer;
  const bind = (server: CallServer) => {
    serve = server;
  };
  const offered = new Set(tests.methods.map(({ name }) => name));
  createBroker(tests.methods).bind({ serveCalls: bind }, { owner: 'local', session: 's', methods: offered });
  const running = { over: new AbortController().signal, hooks: { onGap: () => {}, pause: () => async () => {} } };
  const socket = await guest.connect();
  const connection = await connectGuest(socket, {
    ...(fresh ? {} : { config: guest.config }),
    canReconnect: true,
    onCall: (call) => {
      methods.push(call.method);
      return serve(call, call.execution === null ? undefined : running);
    },
  });
  await connection.ready;
  await connection.request({ type: 'calls' }, nothing);
  return { connection, socket, tests, begun: () => methods };
}

let runs = 0;

function run(connection: GuestConnection, code: string) {
  runs += 1;
  const collector = createCollector(join(guest.workspace, `${runs}.log`), DEFAULT_OUTPUT_LIMITS, () => {});
  const request = { executionId: `x-${runs}`, code: Buffer.from(code), language: PYTHON, filename: '<test>' };
  const end = runInGuest(connection, { ...request, timeoutMs: 30_000 }, collector);
  end.catch(() => {});
  return { end, collector };
}
