import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createStdioTransport, LARGEST_REPLY_BYTES } from './transport.ts';

test('a reply that is larger than clients accept becomes an error, and the connection stays open', async () => {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough() };
  const refused: string[] = [];
  const transport = createStdioTransport(streams, (reason) => refused.push(reason));
  await transport.start();
  const answer = (id: number, sizeBytes: number) =>
    transport.send({ jsonrpc: '2.0', id, result: { text: 'x'.repeat(sizeBytes) } });
  await answer(1, LARGEST_REPLY_BYTES);
  await answer(2, LARGEST_REPLY_BYTES / 2);
  const [first, second] = streams.stdout.read().toString().split('\n');
  expect(JSON.parse(first)).toMatchObject({
    id: 1,
    error: { message: expect.stringMatching(/has \d+ bytes.*by its link/) },
  });
  expect(JSON.parse(second)).toMatchObject({ id: 2, result: { text: expect.stringMatching(/^x+$/) } });
  expect(refused).toHaveLength(1);
  await transport.close();
});

function started(options: Parameters<typeof createStdioTransport>[2] = {}) {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough() };
  const transport = createStdioTransport(streams, () => {}, options);
  const taken: unknown[] = [];
  transport.onmessage = (message) => taken.push(message);
  return { ...streams, transport, taken, answers: () => (streams.stdout.read() ?? '').toString().trim().split('\n') };
}

test.each([
  ['very many members', { _meta: Object.fromEntries(Array.from({ length: 400_000 }, (_, index) => [`k${index}`, 0])) }],
  ['a token without end', { _meta: { progressToken: 'x'.repeat(3_000_000) } }],
  ['an address without end', { uri: 'x'.repeat(3_000_000) }],
])('a message with %s is refused with a short error, under its id', async (_, params) => {
  const { stdin, transport, taken, answers } = started();
  await transport.start();
  stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/list', params })}\n`);
  stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 8, method: 'tools/list' })}\n`);
  await expect.poll(() => taken.length).toBe(1);
  const [answer] = answers();
  expect(answer!.length).toBeLessThan(500);
  expect(JSON.parse(answer!)).toMatchObject({ id: 7, error: { code: -32600 } });
  await transport.close();
});

test('progress notifications are dropped while a client reads nothing, and replies are not', async () => {
  const { stdout, transport } = started();
  await transport.start();
  const params = { progressToken: 1, progress: 1, message: 'x'.repeat(1_000) };
  for (let count = 0; count < 10_000; count += 1) {
    await transport.send({ jsonrpc: '2.0', method: 'notifications/progress', params });
  }
  expect(stdout.writableLength).toBeLessThan(200_000);
  const before = stdout.writableLength;
  await transport.send({ jsonrpc: '2.0', id: 1, result: {} });
  expect(stdout.writableLength).toBeGreaterThan(before);
  await transport.close();
});

test('a client that does not read its queue for the timeout counts as gone, even if it closes nothing', async () => {
  const { stdin, transport } = started({ unreadMs: 50 });
  const closed = new Promise<void>((resolve) => {
    transport.onclose = resolve;
  });
  await transport.start();
  await transport.send({ jsonrpc: '2.0', id: 1, result: { text: 'x'.repeat(5_000_000) } });
  stdin.end('{}\n'); // the server no longer reads stdin, so it does not see its end
  await closed;
});
