import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** A name server on loopback. `answer` gives the IPv4 addresses of a name each time it is asked; undefined: no answer at all. */
export interface DnsServer {
  readonly address: string;
  /** The names that were asked for, of IPv4 addresses. */
  readonly questions: readonly string[];
  close(): void;
}

export async function startDnsServer(answer: (name: string) => readonly string[] | undefined): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const questions: string[] = [];
  socket.on('message', (query, from) => {
    const { name, end } = questionOf(query);
    const isA = query.readUInt16BE(end - 4) === 1;
    if (isA) questions.push(name);
    const addresses = isA ? answer(name) : [];
    if (addresses !== undefined) socket.send(replyTo(query.subarray(0, end), addresses), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${(socket.address() as AddressInfo).port}`, questions, close: () => socket.close() };
}

function questionOf(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 5 };
}

function replyTo(question: Buffer, addresses: readonly string[]): Buffer {
  const head = Buffer.from(question);
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  const records = addresses.map((address) =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]),
  );
  return Buffer.concat([head, ...records]);
}
