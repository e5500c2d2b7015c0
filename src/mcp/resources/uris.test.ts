import { UriTemplate } from '@modelcontextprotocol/server';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decoded, FILE_TEMPLATE, fileUri, LOG_TEMPLATE, logUri } from './uris.ts';

const names = fc.string({ unit: 'grapheme', minLength: 1 }).filter((name) => name !== '.' && name !== '..');

test('a link to a file leads back to its path, whatever its name', () => {
  fc.assert(
    fc.property(fc.array(names, { minLength: 1 }), (parts) => {
      const path = parts.map((part) => part.replaceAll('/', '-')).join('/');
      const uri = new URL(fileUri('s-1', path)).toString();
      const { session, path: found } = new UriTemplate(FILE_TEMPLATE).match(uri)!;
      expect([decoded(session), decoded(found)]).toEqual(['s-1', path]);
    }),
  );
});

test('a link to a log leads back to its execution', () => {
  const found = new UriTemplate(LOG_TEMPLATE).match(logUri('s-1', 'x-2'))!;
  expect(found).toEqual({ session: 's-1', execution: 'x-2' });
});

test('a doubly encoded part is decoded once, and an undecodable part is undefined', () => {
  expect(decoded('%252e%252e')).toBe('%2e%2e');
  expect(decoded('%ff')).toBeUndefined();
  expect(decoded(['a', 'b'])).toBeUndefined();
});
