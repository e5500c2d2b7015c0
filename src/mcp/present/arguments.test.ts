import { expect, test } from 'vitest';
import * as z from 'zod';
import { checkedArguments } from './arguments.ts';

const schema = z.strictObject({ code: z.string(), timeout_ms: z.number().optional() });

test('an unknown argument names the one that was probably meant', () => {
  expect(() => checkedArguments(schema, { code: '1', timeout: 5 })).toThrow(
    expect.objectContaining({
      code: 'invalid_argument',
      message: 'Unrecognized key: "timeout"',
      remedy: 'Did you mean timeout_ms? Arguments of this tool: code, timeout_ms.',
    }),
  );
  expect(() => checkedArguments(schema, { code: '1', nonsense: 5 })).toThrow(
    expect.objectContaining({ remedy: 'Arguments of this tool: code, timeout_ms.' }),
  );
});
