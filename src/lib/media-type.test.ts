import { expect, test } from 'vitest';
import { mediaTypeOf } from './media-type.ts';
import { isTextType } from './text-type.ts';

test.each([
  ['a.png', 'image/png'],
  ['folder/b.CSV', 'text/csv'],
  ['c.parquet', 'application/vnd.apache.parquet'],
  ['no-extension', 'application/octet-stream'],
])('%s is %s', (path, mediaType) => {
  expect(mediaTypeOf(path)).toBe(mediaType);
});

test.each(['__proto__', 'x.__proto__', 'x.constructor', 'x.toString', 'x.hasownproperty', ''])(
  'a name that means something to JavaScript means nothing here: %j',
  (path) => {
    expect(mediaTypeOf(path)).toBe('application/octet-stream');
  },
);

test('text types are distinguished from binary types', () => {
  expect(['text/csv', 'application/json', 'image/svg+xml'].every(isTextType)).toBe(true);
  expect(['image/png', 'application/pdf'].some(isTextType)).toBe(false);
});
