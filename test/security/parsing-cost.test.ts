import { expect, test } from 'vitest';
import { createFrameDecoder, encodeFrame, MAX_BODY_BYTES, MAX_HEAD_BYTES } from '../../src/lib/frames.ts';
import { ANSWER_LIMITS, LIST_LIMITS, parseUtf8Json } from '../../src/lib/utf8-json.ts';
import { startCost } from '../support/thread-time.ts';

/**
 * SECURITY: user code can write the answers of a kernel and the heads of frames, which are parsed in the server's event
 * loop. Their size alone bounds nothing: JSON.parse takes 5 ms for a megabyte of text, and 300 ms for one of brackets.
 */

const LIMIT_MS = 45;
/** A head is parsed within the time that all guests share in a turn of the event loop. */
const HEAD_LIMIT_MS = 15;
const ROUNDS = 7;

/** Structures that are dear to parse, of at most so many elements and bytes. */
const SHAPES: readonly [string, (elements: number, bytes: number) => string][] = [
  ['lists inside each other', (elements, bytes) => nested('[', ']', Math.min(elements, bytes / 2))],
  ['objects inside each other', (elements, bytes) => nested('{"a":', '}', Math.min(elements, bytes / 6), '0')],
  ['empty objects', (elements, bytes) => list(elements / 2, bytes, () => '{}')],
  ['objects with different names', (elements, bytes) => list(elements / 2, bytes, (at) => `{"${at.toString(36)}":0}`)],
  [
    'objects with long names',
    (elements, bytes) =>
      list(elements / 2, bytes, (at) => `{"${at.toString(36)}${'k'.repeat((bytes * 1.8) / elements)}":0}`),
  ],
  ['an object', (elements, bytes) => `{${items(elements, bytes, (at) => `"k${at.toString(36)}":0`)}}`],
  ['an object with numbers for names', (elements, bytes) => `{${items(elements, bytes, (at) => `"${at * 7919}":0`)}}`],
  ['numbers', (elements, bytes) => list(elements, bytes, () => `1.${'7'.repeat(28)}e-300`)],
  ['long numbers', (elements, bytes) => list(elements, bytes, () => `1.${'7'.repeat(700)}e-300`)],
  ['escapes', (_, bytes) => `"${'\\u00e9'.repeat(bytes / 6 - 1)}"`],
  ['blanks', (_, bytes) => `[${' '.repeat(bytes - 2)}]`],
];

const LIMITS = [
  ['an answer', ANSWER_LIMITS],
  ['a list', LIST_LIMITS],
] as const;

test.each(LIMITS.flatMap(([what, limits]) => SHAPES.map(([name, shape]) => [what, name, limits, shape] as const)))(
  '%s of %s is not dear to parse, within the limits and beyond them',
  (_, _name, limits, shape) => {
    const room = MAX_BODY_BYTES - 100;
    for (const elements of [limits.levels, limits.names ?? 0, limits.members, Number.POSITIVE_INFINITY]) {
      const body = Buffer.from(`{"unknown":${shape(elements - 2, room)}}`);
      expect(leastMs(() => attempt(() => parseUtf8Json(body, limits)), LIMIT_MS)).toBeLessThan(LIMIT_MS);
    }
  },
);

test('the cost is that of the structure: without limits it would be more', () => {
  const body = Buffer.from(nested('[', ']', MAX_BODY_BYTES / 2));
  const parse = (limits: typeof ANSWER_LIMITS) => leastMs(() => attempt(() => parseUtf8Json(body, limits)));
  const unlimited = { members: Number.POSITIVE_INFINITY, levels: Number.POSITIVE_INFINITY };
  expect(parse(unlimited)).toBeGreaterThan(2 * parse(ANSWER_LIMITS));
});

test.each(SHAPES)('nor is the head of a frame of %s', (_, shape) => {
  const room = MAX_HEAD_BYTES - 100;
  for (const elements of [60, Number.POSITIVE_INFINITY]) {
    const head = Buffer.from(`{"type":"x","unknown":${shape(elements, room)}}`);
    const frame = encodeFrame({ head: { type: 'x' }, body: head });
    // The head is written by hand: a stringified one would be parsed and encoded first.
    const header = Buffer.from(frame.subarray(0, 24));
    header.writeUInt32BE(head.length, 4);
    header.writeUInt32BE(0, 8);
    const bytes = Buffer.concat([header, head]);
    const ms = leastMs(() => attempt(() => [...createFrameDecoder().feed(bytes)]), HEAD_LIMIT_MS);
    expect(ms).toBeLessThan(HEAD_LIMIT_MS);
  }
});

function nested(open: string, close: string, levels: number, inner = ''): string {
  return `${open.repeat(levels)}${inner}${close.repeat(levels)}`;
}

function list(count: number, bytes: number, item: (at: number) => string): string {
  return `[${items(count, bytes, item)}]`;
}

function items(count: number, bytes: number, item: (at: number) => string): string {
  const made: string[] = [];
  for (let room = bytes - 2; made.length < count; ) {
    const next = item(made.length);
    room -= next.length + 1;
    if (room < 0) break;
    made.push(next);
  }
  return made.join();
}

function attempt(parse: () => unknown): void {
  try {
    parse();
  } catch {
    // A refusal has its cost as well.
  }
}

/** Time of the processor: the least of several rounds, or the first that is below `enoughMs`. */
function leastMs(work: () => void, enoughMs = 0): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least >= enoughMs; round += 1) {
    const cost = startCost();
    work();
    least = Math.min(least, cost());
  }
  return least;
}
