import { duplexPair } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createFrameDecoder, encodeFrame, type Head } from '../lib/frames.ts';
import type { Sandbox } from '../sandbox/driver.ts';
import { connectGuest } from './connect.ts';
import { createReconnection } from './keep-connected.ts';

const CONFIG = { limits: { memoryBytes: 1, openFiles: 1, fileBytes: 1, cpus: 1 }, preloads: [], environment: {} };

/** A sandbox whose guest answers each `hello`, and then does `next`. */
async function sandboxOf(next: (close: () => void, count: number) => void) {
  let count = 0;
  const channel = () => {
    const [host, guest] = duplexPair();
    const decoder = createFrameDecoder();
    guest.on('error', () => {});
    guest.on('data', (chunk: Buffer) => {
      for (const { head } of decoder.feed(chunk)) {
        if (head.type !== 'hello') continue;
        count += 1;
        guest.write(encodeFrame({ head: welcome(head) }));
        next(() => guest.end(), count);
      }
    });
    return host;
  };
  const sandbox = { reconnect: async () => channel() } as Partial<Sandbox> as Sandbox;
  const keep = createReconnection(sandbox);
  const connection = await connectGuest(channel(), {
    config: CONFIG,
    canReconnect: true,
    onLost: (_reason, lost) => void keep(lost),
  });
  return { connection, channels: () => count };
}

const welcome = ({ epoch }: Head) => ({
  ...{ type: 'welcome', protocol: 1, epoch, offers: [] },
  guest: { version: '0.1.0', python: '3.11.2' },
});

test('a guest that welcomes every channel and then closes it is soon given up', async () => {
  const { connection, channels } = await sandboxOf((close) => setTimeout(close, 1));
  const ended = await Promise.race([connection.ended, sleep(4_000)]);
  expect(ended).toMatchObject({ code: 'sandbox_lost', remedy: expect.any(String) });
  expect(channels()).toBeLessThan(10);
});

test('a channel that is lost now and then is replaced each time', async () => {
  const { connection, channels } = await sandboxOf((close, count) => count <= 2 && setTimeout(close, 1));
  await expect.poll(channels).toBe(3);
  expect(await Promise.race([connection.ended, sleep(500, 'lives')])).toBe('lives');
  connection.close();
});
