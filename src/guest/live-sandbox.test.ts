import { duplexPair } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { encodeFrame } from '../lib/frames.ts';
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
