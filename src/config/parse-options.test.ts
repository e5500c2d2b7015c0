import { expect, test } from 'vitest';
import * as z from 'zod';
import { networkRules } from './option-types.ts';
import { parseOptions } from './parse-options.ts';

const schema = z.object({ network: networkRules });

test.each([
  ['foo bar', /A rule is a host, \*\.host or host:port/],
  ['http://a/b', /without scheme, path or network mask/],
])('an option whose check knows what helps is refused with that: %j', (rule, remedy) => {
  expect(() => parseOptions(schema, { network: [rule] })).toThrow(
    expect.objectContaining({ code: 'invalid_argument', remedy: expect.stringMatching(remedy) }),
  );
});

test('any other is refused with the page of all options', () => {
  expect(() => parseOptions(schema, { network: 1 })).toThrow(
    expect.objectContaining({ remedy: 'See docs/configuration.md for what is allowed.' }),
  );
});
