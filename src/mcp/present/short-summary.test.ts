import { expect, test } from 'vitest';
import { shortSummary } from './short-summary.ts';

test('a summary of the guest stays as it is', () => {
  const variable = { name: 'x', type: 'int', summary: '1', sizeBytes: 28 };
  expect(shortSummary(variable)).toEqual(variable);
});

test('longer texts, which only a program writes, are cut', () => {
  const { type, summary } = shortSummary({ type: '🐍'.repeat(1000), summary: '\x7f'.repeat(42_000) });
  expect(type.length).toBe(501);
  expect(summary).toBe(`${'\x7f'.repeat(2_000)}…`);
});
