import { expect, test } from 'vitest';
import { countCall } from './counted-call.ts';
import { createInFlight } from './in-flight.ts';

const inFlight = () => createInFlight({ messages: 1, bytes: 100, totalBytes: 100, answerBytes: 10 });

test('a call counts until its connection has closed and its handler has ended', async () => {
  const limited = inFlight();
  const call = countCall(limited, 'a', { bytes: 1 });
  const closed = call.hold();
  let end = () => {};
  const work = new Promise<void>((resolve) => {
    end = resolve;
  });
  call.began(work);
  closed();
  expect(() => countCall(limited, 'a', { bytes: 1 })).toThrow('calls in flight');
  end();
  await expect.poll(() => countCall(limited, 'a', { bytes: 1 })).toBeDefined();
});

test('responses have a limit per owner', () => {
  const limited = createInFlight({ messages: 9, bytes: 100, totalBytes: 100, answerBytes: 10 });
  const first = countCall(limited, 'a', { bytes: 1 });
  const release = first.hold();
  expect(first.mayAnswer(10)).toBe(true);
  expect(countCall(limited, 'a', { bytes: 1 }).mayAnswer(1)).toBe(false);
  expect(countCall(limited, 'b', { bytes: 1 }).mayAnswer(1)).toBe(true);
  release();
  expect(countCall(limited, 'a', { bytes: 1 }).mayAnswer(1)).toBe(true);
});
