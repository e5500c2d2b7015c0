import { expect, test } from 'vitest';
import * as z from 'zod';
import * as answers from '../../src/guest/answers.ts';
import { describeViolation } from '../../src/guest/describe-violation.ts';
import * as messages from '../../src/guest/messages.ts';
import { startCost } from '../support/thread-time.ts';

/**
 * SECURITY: messages of a guest, and answers that user code can write, are validated in the server's event loop. A schema that collects what is wrong with each of many
 * elements, or that compares them with each other, stalls every session: half a million wrong cells took 1.1 s.
 */

const MESSAGE_BYTES = 1_048_576;
const LIMIT_MS = 100;
const ROUNDS = 5;

const SCHEMAS = Object.entries({ ...answers, ...messages } as Record<string, unknown>).filter(
  (entry): entry is [string, z.ZodType] => entry[1] instanceof z.ZodType,
);
/** Everything where something else is expected, and text that is as long as the message. */
const LEAVES: readonly unknown[] = [
  0,
  -0.5,
  '',
  'a/a',
  null,
  {},
  [],
  Array(300).fill(0),
  'a/'.repeat(2_000),
  '/'.repeat(100_000),
];

test.each(SCHEMAS)('%s: no message is dear to validate', (_name, schema) => {
  for (const leaf of LEAVES) {
    for (const value of worstOf(schema, leaf)) {
      expect(leastMs(schema, value), JSON.stringify(value).slice(0, 300)).toBeLessThan(LIMIT_MS);
    }
  }
});

/** A grid is no array to the schema, which looks at it by itself. */
test.each([[0], [''], [{}], [[]]])('variableAnswer: nor is one of a thousand rows of %j', (cell) => {
  const rows = Array.from({ length: 500 }, () => Array(1000).fill(cell));
  const part = { offset: 0, total: 0, columns: [], index: [], columnOffset: 0, totalColumns: 0 };
  const value = { type: '', summary: '', page: { kind: 'rows', rows, ...part } };
  expect(leastMs(answers.variableAnswer, value)).toBeLessThan(LIMIT_MS);
});

/** Messages in the form of the schema with `leaf` for whatever is no object, array or union, and with lists as long as they may be, or as fit. */
function worstOf(schema: z.ZodType, leaf: unknown): unknown[] {
  let room = MESSAGE_BYTES;
  const leafBytes = JSON.stringify(leaf).length + 1;

  function fill(part: z.ZodType): unknown[] {
    // biome-ignore lint/suspicious/noExplicitAny: zod's own description of a schema
    const def = part.def as any;
    switch (def.type) {
      case 'object': {
        const members = Object.entries(def.shape as Record<string, z.ZodType>).map(
          ([name, member]) => [name, fill(member)] as const,
        );
        room -= members.reduce((bytes, [name]) => bytes + name.length + 4, 0);
        const most = Math.max(1, ...members.map(([, all]) => all.length));
        return Array.from({ length: most }, (_, at) =>
          Object.fromEntries(members.map(([name, all]) => [name, all[at % all.length]])),
        );
      }
      case 'array': {
        // biome-ignore lint/suspicious/noExplicitAny: where zod keeps the limit
        const most = ((part as any)._zod.bag.maximum as number | undefined) ?? Number.POSITIVE_INFINITY;
        const wrong = Array(Math.max(0, Math.min(most, Math.floor(room / leafBytes)))).fill(leaf);
        const shaped: unknown[] = [];
        while (shaped.length < most && room > 0) {
          shaped.push(fill(def.element)[0]);
          room -= 2;
        }
        return [wrong, shaped];
      }
      case 'union': {
        const before = room;
        return def.options.flatMap((option: z.ZodType) => {
          room = before;
          return fill(option);
        });
      }
      case 'literal':
        return [def.values[0]];
      case 'optional':
      case 'default':
        return fill(def.innerType);
      default:
        room -= leafBytes;
        return [leaf];
    }
  }

  return fill(schema);
}

/** Time of the processor that a message costs, with what is said of it: the least of several rounds. */
function leastMs(schema: z.ZodType, value: unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least >= LIMIT_MS; round += 1) {
    const cost = startCost();
    const parsed = schema.safeParse(value);
    if (!parsed.success) describeViolation(parsed.error);
    least = Math.min(least, cost());
  }
  return least;
}
