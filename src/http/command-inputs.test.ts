import { expect, it } from 'vitest';
import { deferred } from '../lib/deferred.ts';
import { createCommandInputs } from './command-inputs.ts';
import type { FoundCommand } from './found-command.ts';

/** A command whose program reads when it is told to. */
function createCommand() {
  const written: string[] = [];
  const reads: (() => void)[] = [];
  async function write(data: Uint8Array): Promise<void> {
    const read = deferred<void>();
    reads.push(() => {
      written.push(Buffer.from(data).toString());
      read.resolve();
    });
    await read.promise;
  }
  const command = { command: { write, endInput: () => write(Buffer.from('END')) } } as unknown as FoundCommand;
  return { command, written, reads };
}

const input = (text: string, end = false) => ({ data: Buffer.from(text), end });

it('keeps one input that is not read, and refuses the next after a while', async () => {
  const { command, written, reads } = createCommand();
  const inputs = createCommandInputs(10);
  expect(await inputs.send(command, input('first'))).toBe(true);
  expect(await inputs.send(command, input('second'))).toBe(false);
  reads[0]!();
  expect(await inputs.send(command, input('third'))).toBe(true);
  expect([written, reads.length]).toEqual([['first'], 2]);
});

it('keeps the order of inputs that come at once', async () => {
  const { command, written, reads } = createCommand();
  const inputs = createCommandInputs(60_000);
  const sent = ['a', 'b', 'c'].map((text) => inputs.send(command, input(text, text === 'c')));
  for (let read = 0; read < 4; read += 1) {
    await expect.poll(() => reads.length).toBe(read + 1);
    reads[read]!();
  }
  expect(await Promise.all(sent)).toEqual([true, true, true]);
  expect(written).toEqual(['a', 'b', 'c', 'END']);
});

it('one command does not wait for another', async () => {
  const [slow, quick] = [createCommand(), createCommand()];
  const inputs = createCommandInputs(10);
  await inputs.send(slow.command, input('x'));
  const sent = inputs.send(quick.command, input('y'));
  quick.reads[0]!();
  expect(await sent).toBe(true);
});

it('tells of input that cannot be taken', async () => {
  const failing = { command: { write: () => Promise.reject(new Error('no')) } } as unknown as FoundCommand;
  await expect(createCommandInputs().send(failing, input('x'))).rejects.toThrow('no');
});
