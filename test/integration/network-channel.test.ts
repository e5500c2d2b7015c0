import { writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createCollector, DEFAULT_OUTPUT_LIMITS } from '../../src/execution/collect.ts';
import { runInGuest } from '../../src/execution/run.ts';
import type { GuestCall } from '../../src/guest/calls.ts';
import { connectGuest } from '../../src/guest/connect.ts';
import type { GuestConnection } from '../../src/guest/connection.ts';
import { type GuestNetwork, setGuestNetwork } from '../../src/guest/network.ts';
import { PYTHON } from '../../src/languages/table.ts';
import { type ListeningGuest, startListeningGuest } from '../support/listening-guest.ts';

/** The network of a real guest whose channel ends. */

const NETWORK: GuestNetwork = { listen: [{ name: 'db', kind: 'forward' }], variables: { DB: '{db}' } };
const CLIENT = `import os, socket, time
def connect():
    return socket.create_connection(("127.0.0.1", int(os.environ["DB"])))
def said(s):
    try: return s.recv(100)
    except ConnectionResetError: return "reset"
def wait_for(name):
    while not os.path.exists(name): time.sleep(0.01)
`;
let guest: ListeningGuest;

afterEach(async () => {
  await guest?.[Symbol.asyncDispose]();
});

test('a connection is reset when the channel is lost, and the next one on another channel works at the same port', async () => {
  const { connection, socket, calls } = await host();
  const ports = await setGuestNetwork(connection, NETWORK);
  const { end, collector } = run(
    connection,
    `${CLIENT}s = connect()\nprint(said(s))\nopen("greeted", "w").close()\nprint(said(s))\nprint(said(connect()))\nopen("lost", "w").close()\nwait_for("go")\nprint(said(connect()))`,
  );
  await expect.poll(() => calls.length).toBe(1);
  await calls[0]!.send({ type: 'chunk', end: false }, Buffer.from('hello'));
  await guest.fileAppears('greeted');
  socket.destroy();
  await guest.fileAppears('lost');
  await expect.poll(() => calls[0]!.signal.reason).toMatchObject({ code: 'sandbox_lost' });
  await connection.reconnect(await guest.connect());
  expect(await setGuestNetwork(connection, NETWORK)).toEqual(ports);
  await writeFile(join(guest.workspace, 'go'), '');
  await expect.poll(() => calls.length).toBe(2);
  await calls[1]!.send({ type: 'chunk', end: false }, Buffer.from('again'));
  expect(await end).toMatchObject({ kind: 'finished', end: { outcome: { kind: 'ok' } } });
  expect(collector.parts().stdout).toBe("b'hello'\nreset\nreset\nb'again'\n");
});

test('a host that takes over finds no connection, and the listeners and variables until it changes them', async () => {
  const first = await host();
  const ports = await setGuestNetwork(first.connection, NETWORK);
  await run(first.connection, `${CLIENT}s = connect()`).end;
  await expect.poll(() => first.calls.length).toBe(1);
  const second = await host({ fresh: true });
  const before = run(second.connection, 'print(said(s)); s = connect(); s.sendall(b"x")');
  await before.end;
  expect(before.collector.parts().stdout).toBe('reset\n');
  await expect.poll(() => second.calls.map(({ method }) => method)).toEqual(['network.forward']);
  expect(await setGuestNetwork(second.connection, NETWORK)).toEqual(ports);
  await setGuestNetwork(second.connection, { listen: [], variables: {} });
  const after = run(second.connection, 'print(said(s), os.environ.get("DB"))');
  await after.end;
  expect(after.collector.parts().stdout).toBe('reset None\n');
});

interface Host {
  readonly connection: GuestConnection;
  readonly socket: Socket;
  /** The calls that have reached this host, in order. It answers none. */
  readonly calls: readonly GuestCall[];
}

async function host({ fresh = false } = {}): Promise<Host> {
  if (!fresh) guest = await startListeningGuest();
  const calls: GuestCall[] = [];
  const socket = await guest.connect();
  const connection = await connectGuest(socket, {
    ...(fresh ? {} : { config: guest.config }),
    canReconnect: true,
    onCall: (call) => {
      calls.push(call);
      return () => {};
    },
  });
  await connection.ready;
  return { connection, socket, calls };
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
