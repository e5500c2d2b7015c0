import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect } from 'vitest';
import { type FileLink, signedPath, verifySignedPath } from '../../src/artifacts/signed-url.ts';
import { fuzz } from './fuzz.ts';
import { mutatedBytes } from './mutations.ts';

const KEY = randomBytes(32);
const NOW = 1_700_000_000_000;
const name = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 12 })
  .filter((text) => !/^\.{1,2}$|[/\\\0]/.test(text));
const link: fc.Arbitrary<FileLink> = fc.record({
  owner: fc.string({ minLength: 1, maxLength: 20 }),
  session: name,
  uniqueId: name,
  path: fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/')),
  expires: fc.integer({ min: 1, max: 4_000_000_000 }),
});

fuzz(
  'links: one that was signed is taken until it is over',
  fc.property(link, (one) => {
    const verified = verifySignedPath(KEY, signedPath(KEY, one), NOW);
    expect(verified).toEqual(one.expires * 1000 <= NOW ? 'expired' : one);
    expect(verifySignedPath(randomBytes(32), signedPath(KEY, one), NOW)).toBe('tampered');
  }),
  500,
);

fuzz(
  'links: one that was changed leads nowhere, or where it led before',
  fc.property(
    link.chain((one) =>
      fc.record({ one: fc.constant(one), text: mutatedBytes(fc.constant(Buffer.from(signedPath(KEY, one)))) }),
    ),
    ({ one, text }) => {
      const verified = verifySignedPath(KEY, text.toString('latin1'), NOW);
      // Another spelling of the same address, such as %4A for J, is the same link.
      if (verified !== 'tampered') expect(verified).toEqual(one.expires * 1000 <= NOW ? 'expired' : one);
    },
  ),
  2000,
);
