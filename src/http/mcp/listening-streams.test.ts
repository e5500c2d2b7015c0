import { expect, test } from 'vitest';
import { createListeningStreams } from './listening-streams.ts';

/** A response that never ends by itself. */
function endless() {
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('event')),
    cancel: () => {
      isCancelled = true;
    },
  });
  return { response: new Response(body), isCancelled: () => isCancelled };
}

test('streams of an owner whose token was revoked end, and those of others do not', async () => {
  const streams = createListeningStreams({ perOwner: 2, total: 4 });
  const [mine, theirs] = [endless(), endless()];
  const held = streams.hold('ada', mine.response);
  const others = streams.hold('bob', theirs.response).body!.getReader();
  const text = held.text();
  expect((await others.read()).done).toBe(false);
  streams.closeOf('ada');
  expect(await text).toBe('event');
  expect([mine.isCancelled(), theirs.isCancelled()]).toEqual([true, false]);
  expect([streams.count('ada'), streams.count()]).toEqual([0, 1]);
});

test('a stream above the limit of an owner ends its oldest', async () => {
  const streams = createListeningStreams({ perOwner: 2, total: 4 });
  const all = [endless(), endless(), endless()];
  const texts = all.map(({ response }) => streams.hold('ada', response).text());
  await texts[0];
  expect(all.map(({ isCancelled }) => isCancelled())).toEqual([true, false, false]);
});

test('a stream above the total limit ends the oldest of the owner with the most', () => {
  const streams = createListeningStreams({ perOwner: 3, total: 4 });
  for (const owner of ['bob', 'ada', 'ada', 'ada', 'carl']) streams.hold(owner, endless().response);
  expect(['bob', 'ada', 'carl'].map((owner) => streams.count(owner))).toEqual([1, 2, 1]);
});

test('a stream that its client leaves, or that ends by itself, is not counted', async () => {
  const streams = createListeningStreams({ perOwner: 3, total: 4 });
  const left = endless();
  await streams.hold('ada', left.response).body!.cancel();
  expect([left.isCancelled(), streams.count()]).toEqual([true, 0]);
  expect(await streams.hold('ada', new Response('whole')).text()).toBe('whole');
  expect(streams.count()).toBe(0);
});
