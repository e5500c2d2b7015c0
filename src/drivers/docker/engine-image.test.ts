import { describe, expect, it } from 'vitest';
import { searchPath, volumePath } from './engine-image.ts';

describe('the search path of an image', () => {
  it('is the last that it sets, or that of engines', () => {
    expect(searchPath('an/image', ['PATH=/a', 'X=1', 'PATH=/b:/c'])).toBe('/b:/c');
    expect(searchPath('an/image', ['PATH='])).toMatch(/^\/usr\/local\/sbin:/);
  });

  it.each(['/x'.repeat(30_000), '\u0001'.repeat(3_000)])(
    'that does not fit into a message to the guest is refused',
    (path) => {
      expect(() => searchPath('an/image', [`PATH=${path}`])).toThrow(/an\/image has a PATH of \d+ characters/);
    },
  );
});

describe('a volume that an image declares', () => {
  it.each([
    ['/data', '/data'],
    ['/data/', '/data'],
    ['//data//x', '/data/x'],
    ['/v/./2', '/v/2'],
    ['/tmp/../workspace', '/workspace'],
  ])('%j is covered at %j, as the engine spells it', (declared, path) => {
    expect(volumePath('an/image', declared)).toBe(path);
  });

  it.each(['', '/', '/..', 'data', './data', '../data', '/a:/b', '/a,b', '/a\nb', '/a\0'])(
    'at %j is refused',
    (declared) => {
      expect(() => volumePath('an/image', declared)).toThrow(/an\/image declares a volume/);
    },
  );
});
