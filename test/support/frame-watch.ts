import type { Duplex } from 'node:stream';
import { createFrameDecoder, type Frame } from '../../src/lib/frames.ts';
import type { Driver } from '../../src/sandbox/driver.ts';

/** Who sent a frame. It is seen before the other side gets it. */
export type Sender = 'host' | 'guest';
export type FrameWatcher = (sender: Sender, frame: Frame) => void;

/** The driver with every frame of its channels shown to `watch` on its way. Nothing is delayed or changed. */
export function watchedDriver(driver: Driver, watch: FrameWatcher): Driver {
  return {
    name: driver.name,
    traits: driver.traits,
    probe: (options) => driver.probe(options),
    survivors: () => driver.survivors(),
    close: () => driver.close(),
    create: async (spec, options) => {
      const sandbox = await driver.create(spec, options);
      watchFrames(sandbox.channel, watch);
      return sandbox;
    },
  };
}

function watchFrames(channel: Duplex, watch: FrameWatcher): void {
  const decoders = { host: createFrameDecoder(), guest: createFrameDecoder() };
  const show = (sender: Sender, chunk: unknown) => {
    if (!Buffer.isBuffer(chunk)) return;
    for (const frame of decoders[sender].feed(Buffer.from(chunk))) watch(sender, frame);
  };
  const { write, emit } = channel;
  channel.write = ((...args: Parameters<typeof write>) => {
    show('host', args[0]);
    return write.apply(channel, args);
  }) as Duplex['write'];
  channel.emit = ((...args: Parameters<typeof emit>) => {
    if (args[0] === 'data') show('guest', args[1]);
    return emit.apply(channel, args);
  }) as Duplex['emit'];
}
