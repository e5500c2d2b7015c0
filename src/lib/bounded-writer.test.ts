import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createBoundedWriter } from './bounded-writer.ts';

function inFile(work: (descriptor: number) => Promise<void>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'hotcell-writer-'));
  const path = join(folder, 'out');
  const descriptor = openSync(path, 'a');
  return work(descriptor)
    .then(() => readFileSync(path, 'utf8'))
    .finally(() => {
      closeSync(descriptor);
      rmSync(folder, { recursive: true });
    });
}

test('writes everything in order', async () => {
  const text = await inFile(async (descriptor) => {
    const writer = createBoundedWriter(descriptor, 1_000_000);
    for (let n = 0; n < 1000; n += 1) writer.write(`${n}\n`);
    await writer.drained();
  });
  expect(text).toBe(Array.from({ length: 1000 }, (_, n) => `${n}\n`).join(''));
});

test('drops text that does not fit while the first write is in progress', async () => {
  const text = await inFile(async (descriptor) => {
    const writer = createBoundedWriter(descriptor, 100);
    for (let n = 0; n < 1000; n += 1) writer.write('0123456789');
    await writer.drained();
  });
  expect(text.length).toBe(110);
});

test('a write error is not thrown', async () => {
  const full = openSync('/dev/full', 'w');
  const writer = createBoundedWriter(full, 100);
  writer.write('x');
  await writer.drained();
  writer.write('y');
  await writer.drained();
  closeSync(full);
});
