import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ManagedExecution } from '../directory/directory.ts';
import { wholeCharacters } from '../lib/whole-characters.ts';
import { type LogPiece, outputSize, readLog } from './execution-log.ts';

function executionWith(stdout: string, logPath?: string): ManagedExecution {
  const truncation = logPath === undefined ? undefined : { logPath };
  return {
    state: () => 'ended',
    partial: () => ({ stdout, stderr: '' }),
    result: Promise.resolve({ truncation, outcome: { kind: 'ok' } }),
  } as unknown as ManagedExecution;
}

test('a log that is read in parts is complete', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme' }), fc.integer({ min: 4, max: 20 }), async (text, length) => {
      let read = '';
      let offset: number | undefined = 0;
      while (offset !== undefined) {
        const piece: LogPiece = await readLog(executionWith(text), { offset, length });
        read += piece.text;
        offset = piece.next_offset;
      }
      expect(read).toBe(text);
    }),
  );
});

test('if a log was evicted, the output of the reply is left', async () => {
  const { text } = await readLog(executionWith('head … tail', '/nowhere/x.log'), { offset: 0, length: 100 });
  expect(text).toBe('head … tail');
});

test('a log ends with the exception and its whole message, also if it is read in parts', async () => {
  const long = 'é'.repeat(3_000);
  const outcome = { kind: 'raised', name: 'E', message: `${long}!`, traceback: ['E: é…', 'a note'] };
  const read = async (stdout: string, length: number) => {
    const execution = { ...executionWith(stdout), result: Promise.resolve({ outcome }) } as unknown as ManagedExecution;
    const pieces: LogPiece[] = [];
    for (let offset: number | undefined = 0; offset !== undefined; offset = pieces.at(-1)?.next_offset)
      pieces.push(await readLog(execution, { offset, length }));
    const behind = await readLog(execution, { offset: await outputSize(execution), length: 20 });
    return { text: pieces.map(({ text }) => text).join(''), behind: behind.text };
  };
  for (const length of [1_000, 4_097, 20_000]) {
    const error = `E: ${long}!\na note\n`;
    expect(await read('', length)).toEqual({ text: error, behind: `E: ${'é'.repeat(8)}` });
    expect(await read('printed\n', length)).toEqual({ text: `printed\n\n${error}`, behind: `\nE: ${'é'.repeat(8)}` });
  }
});

test('past the end there is nothing more', async () => {
  expect(await readLog(executionWith('abc'), { offset: 10, length: 5 })).toEqual({
    offset: 10,
    text: '',
    size_bytes: 3,
  });
});

test.each([
  ['ab', 2],
  ['aü', 3],
  ['a€', 4],
])('a character is never cut: %s', (text, size) => {
  const bytes = Buffer.from(text);
  expect(wholeCharacters(bytes)).toBe(size);
  if (size > text.length) expect(wholeCharacters(bytes.subarray(0, -1))).toBe(1);
});
