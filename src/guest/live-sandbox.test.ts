import { duplexPair } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createFrameDecoder, encodeFrame, type Head } from '../lib/frames.ts';
import type { Driver, Sandbox } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import { openLiveSandbox } from './live-sandbox.ts';

const CONFIG = { limits: { memoryBytes: 1, openFiles: 1, fileBytes: 1, cpus: 1 }, preloads: [], environment: {} };
const WELCOME = {
  ...{ type: 'welcome', protocol: 1, epoch: 1, offers: [] },
  guest: { version: '0.1.0', python: '3.11.2' },
};

test.each([
  ['made here', false],
  ['taken over', true],
])('a guest that sends its welcome early and closes the channel loses only its sandbox (%s)', async (_what, adopt) => {
  const [host, guest] = duplexPair();
  guest.end(encodeFrame({ head: WELCOME }));
  await sleep(20);
  let disposals = 0;
  const sandbox: Partial<Sandbox> = {
    channel: host,
    ...(adopt ? {} : { guestConfig: CONFIG }),
    reconnect: () => Promise.reject(new Error('it is gone')),
    leave: async () => {},
    dispose: async () => {
      disposals += 1;
    },
  };
  const make = async () => sandbox as Sandbox;
  const driver = { name: 'docker', create: make, adopt: make } as Partial<Driver> as Driver;
  const opening = openLiveSandbox(driver, {} as SandboxSpec, 5_000, { adopt }).then(
    ({ connection }) => connection.ended,
  );
  await expect(opening.catch((error: unknown) => error)).resolves.toMatchObject({ code: 'sandbox_lost' });
  expect(disposals).toBeGreaterThan(0);
});

test.each([
  ['made here is not asked to close a network that it never had', false, []],
  ['taken over is, because the server before may have opened one', true, ['network']],
])('a sandbox that was %s', async (_what, adopt, expected) => {
  const [host, guest] = duplexPair();
  const asked: string[] = [];
  const decoder = createFrameDecoder();
  let sequence = 0;
  const say = (head: Head) => guest.write(encodeFrame({ head, sequence: head.type === 'welcome' ? 0 : ++sequence }));
  guest.on('data', (chunk: Buffer) => {
    for (const { head } of decoder.feed(chunk)) {
      if (head.type === 'hello') {
        say({ ...WELCOME, epoch: 1 });
        say({ type: 'ready' });
      } else if (head.id !== undefined) {
        asked.push(head.type);
        say({ type: 'reply', id: head.id, ok: true, result: { ports: {} } });
      }
    }
  });
  const sandbox: Partial<Sandbox> = {
    channel: host,
    ...(adopt ? {} : { guestConfig: CONFIG }),
    dispose: async () => {},
  };
  const make = async () => sandbox as Sandbox;
  const driver = { name: 'docker', create: make, adopt: make } as Partial<Driver> as Driver;
  const live = await openLiveSandbox(driver, {} as SandboxSpec, 5_000, { adopt });
  await expect(live.network({ listen: [], variables: {} })).resolves.toEqual({});
  expect(asked).toEqual(expected);
  await live.network({ listen: [], variables: { A: 'b' } });
  await live.network({ listen: [], variables: {} });
  expect(asked).toEqual([...expected, 'network', 'network']);
  await live.dispose();
});
