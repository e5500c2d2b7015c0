import { expect, test } from 'vitest';
import { createInFlight } from './in-flight.ts';

const limits = { messages: 3, bytes: 100, totalBytes: 150 };
const tooMuch = expect.objectContaining({ code: 'too_much_in_flight' });

test('calls in flight of an owner are limited in number and bytes, until they are answered', () => {
  const inFlight = createInFlight(limits);
  const release = inFlight.claim('a', { messages: 1, bytes: 60 });
  expect(() => inFlight.claim('a', { messages: 1, bytes: 60 })).toThrow(tooMuch);
  inFlight.claim('a', { messages: 2, bytes: 0 });
  expect(() => inFlight.claim('a', { messages: 1, bytes: 0 })).toThrow(tooMuch);
  release();
  release();
  inFlight.claim('a', { messages: 1, bytes: 100 });
  expect(() => inFlight.claim('a', { messages: 1, bytes: 1 })).toThrow(tooMuch);
});

test('the total of all owners has a limit too, and the first call of an owner is always accepted', () => {
  const inFlight = createInFlight(limits);
  inFlight.claim('a', { messages: 1, bytes: 90 });
  inFlight.claim('b', { messages: 1, bytes: 90 });
  expect(() => inFlight.claim('b', { messages: 1, bytes: 5 })).toThrow(tooMuch);
  inFlight.claim('c', { messages: 1, bytes: 1000 });
});

test('an empty batch counts as a call', () => {
  const inFlight = createInFlight(limits);
  const empty = inFlight.claim('a', { messages: 0, bytes: 10 });
  inFlight.claim('a', { messages: 1, bytes: 10 })();
  inFlight.claim('a', { messages: 1, bytes: 10 });
  empty();
  inFlight.claim('a', { messages: 2, bytes: 10 });
  expect(() => inFlight.claim('a', { messages: 1, bytes: 1 })).toThrow(tooMuch);
});

test('answers of an owner have a limit, the first one as well', () => {
  const inFlight = createInFlight({ ...limits, answerBytes: 10 });
  expect(inFlight.answer('a', 11)).toBeUndefined();
  const release = inFlight.answer('a', 10);
  expect(inFlight.answer('a', 1)).toBeUndefined();
  release!();
  expect(inFlight.answer('a', 1)).toBeDefined();
});
