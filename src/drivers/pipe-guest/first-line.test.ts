import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { takeFirstLine } from './first-line.ts';
import { parseReadyLine } from './ready-line.ts';

const line = JSON.stringify({ hotcell: 1, path: '/bin', machine: 'aarch64', kernel: '6.1', layers: true });

describe('the line before the protocol', () => {
  it('is read from the channel, and nothing after it', async () => {
    const channel = new PassThrough();
    channel.write(line.slice(0, 5));
    setImmediate(() => channel.write(`${line.slice(5)}\nHC`));
    expect(await takeFirstLine(channel, parseReadyLine)).toEqual({
      path: '/bin',
      architecture: 'arm64',
      kernel: '6.1',
      findsLayers: true,
    });
    expect(channel.read().toString()).toBe('HC');
  });

  it.each(['hello\n', '{"hotcell":2}\n', 'x'.repeat(20_000)])('is rejected if it is not valid', async (said) => {
    const channel = new PassThrough({ highWaterMark: 32_768 });
    channel.write(said);
    await expect(takeFirstLine(channel, parseReadyLine)).rejects.toThrow(said.slice(0, 5));
  });

  it('is rejected when the channel closes', async () => {
    const channel = new PassThrough();
    const ready = takeFirstLine(channel, parseReadyLine);
    channel.destroy();
    await expect(ready).rejects.toThrow();
  });
});
