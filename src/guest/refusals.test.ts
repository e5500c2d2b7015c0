import { expect, it } from 'vitest';
import { HotcellError } from '../errors/hotcell-error.ts';
import { GuestRefusal } from './pending-requests.ts';
import { rethrowAsOurs } from './refusals.ts';

it('turns a refusal of the guest into a HotcellError', () => {
  expect(() => rethrowAsOurs(new GuestRefusal('no-kernel', 'no process left'))).toThrow(
    expect.objectContaining({
      name: 'HotcellError',
      code: 'kernel_unavailable',
      message: 'the sandbox said "no process left"',
    }),
  );
});

it('does not take a property of every object for a code', () => {
  for (const code of ['constructor', '__proto__', 'toString', 'unheard-of']) {
    expect(() => rethrowAsOurs(new GuestRefusal(code, 'x'))).toThrow(
      expect.objectContaining({ code: 'guest_misbehaved' }),
    );
  }
});

it('passes on other errors', () => {
  const lost = new HotcellError('sandbox_lost', 'gone');
  expect(() => rethrowAsOurs(lost)).toThrow(lost);
});
