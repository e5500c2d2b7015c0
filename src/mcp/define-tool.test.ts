import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { deferred } from '../lib/deferred.ts';
import { createPlacesPerKey } from '../lib/places-per-key.ts';
import { defineTool, type GivenCall, type ToolCall } from './define-tool.ts';

const signal = new AbortController().signal;

function callOf(owner: string, editing = createPlacesPerKey(2)): GivenCall {
  const deps = { owner: { id: owner }, editing, log: { error: () => {} } };
  return { deps, signal } as unknown as GivenCall;
}

function toolThat(handle: (call: ToolCall) => Promise<void>) {
  return defineTool({
    name: 'reads',
    title: 'Reads',
    description: '',
    input: z.strictObject({}),
    output: z.object({}),
    annotations: {},
    handler: async (_, call) => {
      await handle(call);
      return { structured: {}, content: [] };
    },
  });
}

test('an owner reads a few files at a time, and another owner does not wait for it', async () => {
  const editing = createPlacesPerKey(2);
  const mayEnd = deferred<void>();
  const reading: string[] = [];
  const tool = toolThat(async ({ placeForFile, deps }) => {
    await placeForFile();
    reading.push(deps.owner.id);
    await mayEnd.promise;
  });
  const answers = ['ada', 'ada', 'ada', 'ada', 'bob'].map((owner) => tool.answer({}, callOf(owner, editing)));
  await setImmediate();
  expect(reading).toEqual(['ada', 'ada', 'bob']);
  mayEnd.resolve();
  await Promise.all(answers);
  expect(reading.filter((owner) => owner === 'ada')).toHaveLength(4);
  await setImmediate();
  expect(editing.size()).toBe(0);
});

test('a call has one place for all its files, and gives it back if it fails', async () => {
  const editing = createPlacesPerKey(1);
  const tool = toolThat(async ({ placeForFile }) => {
    await placeForFile();
    await placeForFile();
    throw new Error('no such file');
  });
  for (let call = 0; call < 3; call += 1) expect((await tool.answer({}, callOf('ada', editing))).isError).toBe(true);
  await setImmediate();
  expect(editing.size()).toBe(0);
});
