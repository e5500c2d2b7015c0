import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import fc from 'fast-check';
import { afterAll, expect } from 'vitest';
import { packageRoot } from '../../src/lib/package-root.ts';
import { fuzz } from './fuzz.ts';
import { inPieces, mutatedBytes } from './mutations.ts';

/** What the guest's proxy makes of the first bytes of a client (guest/hotcell_guest/network/greeting.py). */
interface Greeted {
  readonly answer: string;
  readonly asked: [method: string, argument: { host?: string; port?: number }, speaks: string] | null;
  readonly isOver: boolean;
  readonly rest: string;
  /** The most bytes that it held. */
  readonly held: number;
}

const MAX_HEAD_BYTES = 65_536;
const root = packageRoot();
const python = spawn('python3', [join(root, 'test', 'fuzz', 'greet_proxy.py'), join(root, 'guest')], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const answers = createInterface({ input: python.stdout })[Symbol.asyncIterator]();
afterAll(() => python.kill());

const host = fc.string({ unit: fc.constantFrom(...'abcxyz019-._:[]@%'), minLength: 1, maxLength: 60 });
const port = fc.integer({ min: 1, max: 65_535 });
const early = fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes));
const header = fc.string({ unit: fc.constantFrom(...'aA: \t"\r'), maxLength: 30 });

const connects = fc
  .record({ host, port, headers: fc.array(header, { maxLength: 3 }), early })
  .map(({ headers, ...asked }) => ({
    ...asked,
    bytes: Buffer.concat([Buffer.from([connectLine(asked), ...headers].join('\r\n')), END, asked.early]),
  }))
  // A header may hold the end of the head itself.
  .filter(({ bytes, early }) => bytes.indexOf(END) === bytes.length - early.length - END.length);
const END = Buffer.from('\r\n\r\n');
const socks = fc
  .record({ host, port, methods: fc.uint8Array({ maxLength: 5 }), early })
  .map(({ methods, ...asked }) => ({
    ...asked,
    bytes: Buffer.concat([
      Buffer.from([5, methods.length + 1, ...methods, 0, 5, 1, 0, 3, asked.host.length]),
      Buffer.from(asked.host),
      Buffer.from([asked.port >> 8, asked.port & 255]),
      asked.early,
    ]),
  }));
const cuts = fc.array(fc.nat(), { maxLength: 6 });

fuzz(
  'proxy: a target is the one that the client asked for, and no byte behind it is lost',
  fc.asyncProperty(fc.oneof(connects, socks), cuts, async ({ host, port, early, bytes }, where) => {
    const greeted = await greet(inPieces(bytes, where));
    const isBracketed = bytes[0] !== 5 && host.startsWith('[') && host.endsWith(']');
    const named = isBracketed ? host.slice(1, -1) : host;
    if (named === '') expect(greeted).toMatchObject({ asked: null, isOver: true });
    else
      expect(greeted).toMatchObject({
        asked: ['network.connect', { host: named, port }, bytes[0] === 5 ? 'socks' : 'connect'],
        rest: early.toString('hex'),
      });
  }),
  400,
);

fuzz(
  'proxy: any bytes are greeted alike in pieces of any size, and never more than a head of them is held',
  fc.asyncProperty(mutatedBytes(fc.oneof(connects, socks).map(({ bytes }) => bytes)), cuts, async (bytes, where) => {
    const whole = await greet([bytes]);
    const pieces = await greet(inPieces(bytes, where));
    expect({ ...pieces, held: 0 }).toEqual({ ...whole, held: 0 });
    expect(pieces.held).toBeLessThanOrEqual(MAX_HEAD_BYTES + bytes.length);
    // Plain HTTP is the host's to read, from the first byte on.
    if (whole.asked?.[0] === 'network.http') expect(whole.rest).toBe(bytes.toString('hex'));
    // Whatever is asked for has a host and a port that can be said in JSON and in a header.
    else if (whole.asked !== null) {
      expect(whole.asked[1].host).toMatch(/^[!-~]{1,255}$/);
      expect(whole.asked[1].port).toBeGreaterThan(0);
    }
    if (whole.isOver) expect(whole.answer).not.toBe('');
  }),
  400,
);

function connectLine({ host, port }: { host: string; port: number }): string {
  return `CONNECT ${host}:${port} HTTP/1.1`;
}

async function greet(pieces: readonly Buffer[]): Promise<Greeted> {
  python.stdin.write(`${pieces.map((piece) => piece.toString('hex')).join(',')}\n`);
  return JSON.parse((await answers.next()).value) as Greeted;
}
