import { expect, test } from 'vitest';
import { notLinear } from '../support/judged-expressions.ts';
import {
  expressionsOfSource,
  expressionsOfSupervisor,
  type FoundExpression,
  filesThatMakeExpressions,
} from '../support/regular-expressions.ts';

/** Those whose time is not linear in the text, with the reason why that does no harm. */
const HARMLESS: Readonly<Record<string, string>> = {
  'cli/completion/model.ts': 'it reads the flags of our own commands',
  'drivers/docker/engine-errors.ts': 'the text is cut to 1000 characters',
  'hotcell_guest.wire.display_limits': 'it is compared with the whole of at most 100 characters',
};

/** Files that make a regular expression out of text, with what the text is. */
const MADE: Readonly<Record<string, string>> = {
  'cli/repl/editor/highlight.ts': 'constants of the same file; a test bounds the time on awkward input',
  'cli/repl/open-constructs.ts': 'the source of a literal in the same file',
  'cli/repl/pictures.ts': 'a constant',
  'drivers/docker/probe.ts': 'the name of a driver',
  'mcp/stdio/message-lines.ts': 'constants; the text is the first and the last piece of a line, of bounded length',
};

test('the time of every regular expression is linear in its text', async () => {
  const found = expressionsOfSource();
  expect(found.length).toBeGreaterThan(100);
  expect(harmful(await notLinear(found))).toEqual([]);
});

test('so is that of every one that process 1 of a sandbox knows', async () => {
  const found = expressionsOfSupervisor();
  expect(found.length).toBeGreaterThan(0);
  expect(harmful(await notLinear(found))).toEqual([]);
});

test('no regular expression is made from what a caller wrote', () => {
  expect(filesThatMakeExpressions().sort()).toEqual(Object.keys(MADE).sort());
});

test('the check finds the mistakes that it is for', async () => {
  const wrong = ['\\s*$', '^(?:[a-z_]|[a-z_][a-z_])+!$', '(?:a*)*b'];
  const found = wrong.map((source) => ({ file: 'here', source, flags: '' }));
  expect((await notLinear(found)).map(({ source }) => source)).toEqual(wrong);
});

function harmful(found: readonly FoundExpression[]): FoundExpression[] {
  return found.filter(({ file }) => HARMLESS[file] === undefined);
}
