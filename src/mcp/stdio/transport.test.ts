import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createStdioTransport, LARGEST_REPLY_BYTES } from './transport.ts';

test('an answer that is larger than clients take costs that answer, and not the connection', async () => {
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
