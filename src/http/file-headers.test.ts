import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileHeaders } from './file-headers.ts';

describe('the headers of a file', () => {
  it.each([
    'x.html',
    'x.HTM',
    'x.svg',
    'x.xhtml',
    'x.xml',
    'x.pdf',
    'x.js',
    'x.css',
    'x.swf',
    'x',
    'x.png.html',
    'x.mhtml',
    'x.csv',
  ])('keeps %s and does not show it', (path) =>
    expect(fileHeaders(path)['content-disposition']).toMatch(/^attachment; /),
  );

  it.each(['x.png', 'x.JPG', 'x.gif', 'x.webp', 'x.txt', 'a/b.html/x.txt'])('shows %s', (path) => {
    expect(fileHeaders(path)['content-disposition']).toMatch(/^inline; /);
  });

  it.each([
    ['chart.png', 'image/png'],
    ['a.csv', 'text/csv; charset=utf-8'],
    ['a.parquet', 'application/vnd.apache.parquet'],
    ['a.html', 'text/html; charset=utf-8'],
    ['a', 'application/octet-stream'],
  ])('says what %s is', (path, type) => {
    expect(fileHeaders(path)).toMatchObject({ 'content-type': type, 'x-content-type-options': 'nosniff' });
  });

  it('include a CSP sandbox, should the file be rendered anyway', () => {
    expect(fileHeaders('x.html')['content-security-policy']).toMatch(/^sandbox; default-src 'none'/);
  });

  it('cannot be changed by a file name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (name) => {
        const header = fileHeaders(name)['content-disposition']!;
        expect(header).toMatch(
          /^(inline|attachment); filename="[A-Za-z0-9 ._()-]*"; filename\*=UTF-8''[A-Za-z0-9!%._~-]*$/,
        );
      }),
    );
  });
});
