import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createEscapeKeys } from './escape-keys.ts';

function typed(...pieces: string[]): { sent: string; isDetached: boolean } {
  const keys = createEscapeKeys();
  let sent = '';
  for (const piece of pieces) {
    const { data, isDetach } = keys.push(Buffer.from(piece));
    sent += data.toString();
    if (isDetach) return { sent, isDetached: true };
  }
  return { sent, isDetached: false };
}

it.each([
  ['~. at the very beginning detaches', '~.', '', true],
  ['~. after a line detaches', 'ls\r~.x', 'ls\r', true],
  ['~~ sends one tilde', '~~.\r', '~.\r', false],
  ['a tilde elsewhere is a tilde', 'cd ~.\r', 'cd ~.\r', false],
  ['a tilde and another key are both sent', '~/bin\r~\r~.', '~/bin\r~\r', true],
])('%s', (_, keys, sent, isDetached) => {
  expect(typed(keys)).toEqual({ sent, isDetached });
  expect(typed(...keys)).toEqual({ sent, isDetached });
});

it('bytes that are not text pass', () => {
  expect(createEscapeKeys().push(Buffer.from([0xff, 0x00, 0x1b])).data).toEqual(Buffer.from([0xff, 0x00, 0x1b]));
});

it('reads the same however the input is split', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('~', '.', '\r', 'a', '~.', '~~')), (pieces) => {
      expect(typed(...pieces)).toEqual(typed(pieces.join('')));
    }),
  );
});
