import { beforeEach, describe, expect, test } from 'vitest';
import { createFoldedOutput } from '../../src/lib/folded-output.ts';
import { onlyWithAll } from '../support/strength.ts';
import { startCost } from '../support/thread-time.ts';

/**
 * SECURITY: output is folded in the server's event loop. A text whose folding costs more than its length stalls every session of the server: 20 kB of `\b ESC[K`
 * behind a long line took 16 s when each sequence copied the line, and 64 kB of `ESC[200Cx` a quarter of a second when each gap was 200 cells. A frame of output has
 * 64 kB at most, and between frames other sessions have their turn.
 */

const LIMITS = { headBytes: 65_536, tailBytes: 65_536 };
const CHUNK_BYTES = 65_536;
const CHUNK_LIMIT_MS = 60;
const FRAMES = 500;
const SMALL_BYTES = 64;
const FRAMES_LIMIT_MS = 200;
/** How much longer twice the text may take; what is so short that the clock and the collector decide is linear. */
const LINEAR = 2.5;
const NOISE_MS = 30;
const ROUNDS = 4;

const BEFORE: Readonly<Record<string, string>> = {
  nothing: '',
  'a long line': 'a'.repeat(60_000),
  'a line longer than a page': 'a'.repeat(200_000),
  'many lines': `${'x'.repeat(60)}\n`.repeat(4_000),
  'empty lines': '\n'.repeat(200_000),
  'a long line of characters beyond 16 bits': '🐍'.repeat(15_000),
  'a long line in a page': `\r${'a'.repeat(60_000)}`,
  'many lines in a page': `\r${'x\n'.repeat(400)}`,
};

/** Every sequence that moves or erases, alone and with what brings it about anew; and the beginnings of all of them. */
const UNITS = [
  ...[
    '\r',
    '\b',
    '\n',
    'x\r',
    'x\b',
    '🐍\b',
    '\t',
    '\xc3',
    '\x1b',
    '\x1b]',
    '\x1b[',
    '\x1b[1',
    '\x1b]0;t\x07',
    '\x1b[31m',
  ],
  ...['A', 'B', 'C', 'D', 'E', 'F', 'G', 'J', 'K'].flatMap((final) => [
    ...[`\x1b[${final}`, `\x1b[1${final}`, `\x1b[2${final}`, `\x1b[500${final}`, `\x1b[99999999${final}x`],
    ...[`\b\x1b[${final}`, `\x1b[${final}\n`, `x\x1b[D\x1b[1${final}`],
  ]),
  ...[
    '\r\x1b[K',
    '\x1b[D\x1b[D\x1b[1K',
    '\x1b[A\x1b[J',
    '\x1b[500A\x1b[J\n',
    '\x1b[500A\x1b[500B',
    '\x1b[500A\x1b[500B\n',
  ],
  ...['\x1b[200Cx\x1b[D\x1b[K', '\x1b[1G\x1b[C\x1b[C\x1b[1K', '\n\x1b[A', '\x1b[9F\x1b[9E', '\rx\x1b[60000C\x1b[1K'],
  // A few bytes that make many cells: gaps, alone and in lines that were written over, and what changes them afterwards.
  ...[
    '\x1b[200Cx',
    '\x1b[200Cx\r',
    '\x1b[200Cx\n',
    '\r\x1b[200Cx\n',
    '\x1b[C\x1b[200Cx\n\n',
    '\x1b[999Gx',
    '\x1b[999Gx\n',
  ],
  ...[`\r${'\x1b[200Cx'.repeat(300)}\n`, `ab\rc${'\x1b[200Cx'.repeat(300)}\n`, `\n${'\x1b[200Cx'.repeat(1100)}`],
  ...['ab\rc\x1b[200Cx\n', 'ab\rc\x1b[200Cx\x1b[1K\n', '\x1b[200C🐍\b\bx\n', '\x1b[200Cx\x1b[2Gy\x1b[1G\x1b[K'],
  ...[`${'\x1b[200Cx\x1b[200Cx\n'.repeat(500)}\x1b[499A`, `\r${'\n'.repeat(400)}${'\x1b[200Cx'.repeat(1000)}`],
  ...['\tx\r', '\t\b\n', '\r\x1b[200Xx', '\r\x1b[200@x', '\r\x1b[200Px', '\x1b[200Ix\n', 'ab\bc\n', 'ab\rc\n'],
  ...['\x1b[500Ax', '\x1b[1Gx', '\x1b[60000Gx\x1b[30000G\x1b[K', '\x1b[60000G\x1b[1K\x1b[1Gx'],
];

/** One of each kind of state: no line, a line, lines that can still change. To try all takes a processor for twenty seconds. */
const KINDS = ['nothing', 'a long line', 'many lines in a page'];
const left = onlyWithAll('tried behind one of each kind');

describe.each(Object.keys(BEFORE))('behind %s', (before) => {
  beforeEach((context) => {
    if (left !== undefined && !KINDS.includes(before)) context.skip(left);
  });

  test('a chunk costs what its length costs, whatever is in it', () => {
    for (const unit of UNITS) {
      const half = Buffer.from(unit.repeat(Math.ceil(CHUNK_BYTES / Buffer.byteLength(unit))));
      const whole = Buffer.concat([half, half]);
      const once = leastMs(before, [half], CHUNK_LIMIT_MS);
      expect(once, JSON.stringify(unit)).toBeLessThan(CHUNK_LIMIT_MS);
      const limit = LINEAR * once + NOISE_MS;
      expect(leastMs(before, [whole], limit), JSON.stringify(unit)).toBeLessThan(limit);
    }
  });

  test('small chunks cost little each', () => {
    for (const unit of UNITS.filter(({ length }) => length < SMALL_BYTES)) {
      const frames = Array.from({ length: FRAMES }, () => Buffer.from(unit));
      expect(leastMs(before, frames, FRAMES_LIMIT_MS), JSON.stringify(unit)).toBeLessThan(FRAMES_LIMIT_MS);
    }
  });
});

/** Time of the processor for the chunks: the least of several rounds, or the first below `enoughMs`. */
function leastMs(before: string, chunks: readonly Buffer[], enoughMs: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least >= enoughMs; round += 1) {
    const output = createFoldedOutput(LIMITS);
    output.push(Buffer.from(BEFORE[before] as string));
    const cost = startCost();
    for (const chunk of chunks) output.push(chunk);
    output.text();
    least = Math.min(least, cost());
  }
  return least;
}
