import type { ServerContext } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { deferred } from '../lib/deferred.ts';
import { startProgress } from './progress.ts';

test('progress is looked at and sent in a turn of the caller, one look at a time', async () => {
  const turns = [deferred<void>(), deferred<void>()];
  let asked = 0;
  let looked = 0;
  const sent: unknown[] = [];
  const context = {
    mcpReq: {
      _meta: { progressToken: 7 },
      notify: async ({ params }: { params: object }) => void sent.push(params),
    },
    http: { authInfo: { extra: { call: { turn: () => turns[asked++]?.promise } } } },
  } as unknown as ServerContext;
  const progress = startProgress(context, 1);
  progress.reportWith(() => `look ${++looked}`);
  await expect.poll(() => asked).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 20)); // twenty looks would have come
  expect([asked, looked, sent]).toEqual([1, 0, []]);
  turns[0]!.resolve();
  await expect.poll(() => asked).toBe(2);
  expect(sent).toMatchObject([{ progressToken: 7, message: 'look 1' }]);
  progress.stop();
  turns[1]!.resolve();
  await Promise.resolve();
  expect([asked, looked]).toEqual([2, 1]);
});

test('nothing is looked at once the client has left', async () => {
  let asked = 0;
  const turn = async () => {
    asked += 1;
    throw new Error('left');
  };
  const mcpReq = { _meta: { progressToken: 7 }, notify: () => expect.fail('nothing is sent') };
  const context = { mcpReq, http: { authInfo: { extra: { call: { turn } } } } } as unknown as ServerContext;
  const progress = startProgress(context, 1);
  await expect.poll(() => asked).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(asked).toBe(1);
  progress.stop();
});
