import { expect, test } from 'vitest';
import { waitingText } from './waiting-text.ts';

test('an execution that waits says for what and since when', () => {
  const since = new Date(1_000);
  expect(waitingText({ waitsFor: () => ({ executionId: 'x-1', since }) }, 13_400)).toBe(
    'waits behind execution x-1, which has used the same kernel for 12 s',
  );
  expect(waitingText({ waitsFor: () => ({ since }) }, 900)).toBe(
    'waits behind a question about variables, which has used the same kernel for 0 s',
  );
  expect(waitingText({ waitsFor: () => undefined })).toBeUndefined();
});
