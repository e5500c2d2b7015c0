import fc from 'fast-check';
import { encodeFrame, type Head } from '../../src/lib/frames.ts';
import { protocolExamples } from '../support/protocol-examples.ts';

const ODD_VALUES = [
  ...[null, true, 0, -1, 1.5, 2 ** 31, 2 ** 32, 2 ** 53, -0, 1e308, '', '\0', '\ud800', '..', '__proto__'],
  ...[
    'constructor',
    'x'.repeat(70_000),
    [],
    {},
    [[]],
    Array(2000).fill(0),
    JSON.parse('{"__proto__": {"polluted": 1}}'),
  ],
];
const ODD_KEYS = ['__proto__', 'constructor', 'toString', 'type', 'id', 'stream', ''];

/** JSON that a hostile peer might send. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(...ODD_VALUES),
  fc.jsonValue({ maxDepth: 4 }),
  fc.integer(),
);

/** The same value with one of its members replaced, removed or added, at any depth. */
export function mutated<T>(base: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc
    .tuple(base, fc.array(fc.tuple(fc.nat(), oddValue, fc.constantFrom('set', 'drop', 'add')), { maxLength: 3 }))
    .map(([value, changes]) =>
      changes.reduce<unknown>((whole, [at, odd, how]) => changed(whole, { at, odd, how }), structuredClone(value)),
    );
}

function changed(value: unknown, change: { at: number; odd: unknown; how: string }): unknown {
  const places = membersOf(value);
  if (places.length === 0) return change.odd;
  const { holder, key } = places[change.at % places.length]!;
  if (change.how === 'drop') delete holder[key];
  else {
    const name = change.how === 'add' ? ODD_KEYS[change.at % ODD_KEYS.length]! : key;
    Object.defineProperty(holder, name, {
      value: structuredClone(change.odd),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return value;
}

function membersOf(value: unknown): { holder: Record<string, unknown>; key: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...membersOf(holder[key])]);
}

/** A head that one side of the protocol sends, or what becomes of it by mutation. */
export function heads(from: 'host' | 'guest'): fc.Arbitrary<Head> {
  const valid = protocolExamples()
    .frames.filter((frame) => frame.from === from)
    .map(({ head }) => head);
  return fc
    .oneof({ weight: 2, arbitrary: fc.constantFrom(...valid) }, mutated(fc.constantFrom(...valid)))
    .map((head) => (isHead(head) ? head : { type: 'ready' }));
}

function isHead(value: unknown): value is Head {
  return typeof value === 'object' && value !== null && typeof (value as Head).type === 'string' && fits(value);
}

const fits = (value: unknown) => JSON.stringify(value).length < 60_000;

/** Frames as bytes, whole and in order. */
export const frameBytes = (head: fc.Arbitrary<Head>): fc.Arbitrary<Buffer> =>
  fc
    .record({
      head,
      body: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      stream: fc.constantFrom(0, 0, 1, 2, 3, 2 ** 32 - 1),
      sequence: fc.oneof(fc.nat(5), fc.constantFrom(0, 2 ** 32 - 1)),
      ack: fc.oneof(fc.nat(3), fc.constantFrom(2 ** 32 - 1)),
    })
    .map(encodeFrame);

/** Bytes of which some were changed, cut out, doubled or made up. */
export function mutatedBytes(base: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const change = fc.record({
    at: fc.nat(),
    how: fc.constantFrom('flip', 'cut', 'double', 'insert'),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 30 }),
  });
  return fc.tuple(base, fc.array(change, { maxLength: 2 })).map(([bytes, changes]) =>
    changes.reduce((whole, { at, how, bytes: odd }) => {
      const place = at % (whole.length + 1);
      const [before, after] = [whole.subarray(0, place), whole.subarray(place)];
      if (how === 'flip') return Buffer.concat([before, odd.subarray(0, 1), after.subarray(1)]);
      if (how === 'cut') return Buffer.concat([before, after.subarray(odd.length)]);
      if (how === 'double') return Buffer.concat([before, after.subarray(0, odd.length), after]);
      return Buffer.concat([before, odd, after]);
    }, bytes),
  );
}

/** The same bytes in pieces of any size, as a socket may deliver them. */
export function inPieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((one, other) => one - other);
  return [0, ...places].map((place, index) => bytes.subarray(place, places[index] ?? bytes.length));
}
