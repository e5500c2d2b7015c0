import fc from 'fast-check';
import { expect } from 'vitest';
import * as z from 'zod';
import * as answers from '../../src/guest/answers.ts';
import { describeViolation } from '../../src/guest/describe-violation.ts';
import * as messages from '../../src/guest/messages.ts';
import { protocolExamples } from '../support/protocol-examples.ts';
import { fuzz } from './fuzz.ts';
import { mutated, oddValue } from './mutations.ts';

const SCHEMAS = Object.values({ ...messages, ...answers } as Record<string, unknown>).filter(
  (value) => value instanceof z.ZodType,
);
const { frames, malformedMessages } = protocolExamples();
const examples = [...frames, ...malformedMessages].map(({ head }) => head as unknown);
const inner = examples.flatMap((head) => Object.values(head as object)).filter((value) => typeof value === 'object');

fuzz(
  'messages: whatever a guest says is refused with a reason or taken within bounds, and changes no prototype',
  fc.property(
    fc.constantFrom(...SCHEMAS),
    fc.oneof(mutated(fc.constantFrom(...examples)), mutated(fc.constantFrom(...inner)), oddValue),
    (schema, value) => {
      const before = Object.getOwnPropertyNames(Object.prototype);
      // As it arrives: by JSON.parse, which makes `__proto__` a member like any other.
      const arrived: unknown = JSON.parse(JSON.stringify(value) ?? 'null');
      let taken: unknown;
      try {
        taken = schema.parse(arrived);
      } catch (error) {
        expect(error).toBeInstanceOf(z.ZodError);
        expect(describeViolation(error).length).toBeLessThan(400);
        return;
      } finally {
        expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
        expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
      }
      expect((taken as { polluted?: unknown }).polluted).toBeUndefined();
      // What it adds by itself are a few defaults.
      expect(JSON.stringify(taken).length).toBeLessThanOrEqual(JSON.stringify(arrived).length + 100);
      expect(schema.parse(taken)).toEqual(taken);
    },
  ),
  3000,
);
