import fc from 'fast-check';
import { afterAll, expect } from 'vitest';
import { parsePolicy } from '../../src/network/policy.ts';
import { createSessionNetwork } from '../../src/network/session-network.ts';
import { readAll, startLoopback } from '../support/loopback-servers.ts';
import { fuzz } from './fuzz.ts';
import { inPieces, mutatedBytes } from './mutations.ts';

const loopback = startLoopback();
afterAll(() => loopback.close());

const requests = [
  'GET http://server.test:PORT/a?b HTTP/1.1\r\nHost: server.test:PORT\r\nAccept: */*\r\n\r\n',
  'POST http://server.test:PORT/ HTTP/1.1\r\nHost: server.test:PORT\r\nContent-Length: 5\r\n\r\nhello',
  'PUT http://server.test:PORT/ HTTP/1.1\r\nHost: server.test:PORT\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  'GET http://server.test:PORT/ HTTP/1.0\r\nHost: server.test:PORT\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
];
const responses = [
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Own: 1\r\n\r\nhello',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found\r\nLocation: http://other.test/\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.0 404 Not Found\r\n\r\nuntil the end',
];

fuzz(
  'network-http: whatever client and server send, the client gets an end, the host lives, and nothing stays open',
  fc.asyncProperty(
    fc.array(fc.constantFrom(...requests), { minLength: 1, maxLength: 3 }),
    fc.constantFrom(...responses),
    fc.tuple(fc.infiniteStream(fc.nat()), fc.array(fc.nat(), { maxLength: 4 }), fc.gen()),
    async (asked, answered, [, cuts, generate]) => {
      const answer = generate(mutatedBytes, fc.constant(Buffer.from(answered)));
      const served: string[] = [];
      const port = await loopback.tcp((socket) => {
        socket
          .on('error', () => undefined)
          .once('data', (bytes) => {
            served.push(bytes.toString('latin1'));
            socket.end(answer);
          });
      });
      const policy = parsePolicy([`server.test:${port}`]);
      const network = createSessionNetwork({
        rules: { ceiling: policy, wanted: policy },
        reach: { resolve: async () => ['127.0.0.1'] },
        limits: { idleMs: 200 },
      });
      const wire = Buffer.from(asked.join('').replaceAll('PORT', String(port)), 'latin1');
      const socket = await loopback.httpClient(network);
      for (const piece of inPieces(generate(mutatedBytes, fc.constant(wire)), cuts)) socket.write(piece);
      socket.end();
      await readAll(socket);
      socket.destroy();
      await expect.poll(() => network.counters().open).toBe(0);
      // SECURITY: no mutation makes a server see another Host than the one that was allowed.
      for (const head of served) expect(head.toLowerCase()).toContain(`\r\nhost: server.test:${port}\r\n`);
      network.close();
    },
  ),
  40,
);
