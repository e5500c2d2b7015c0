import { describe, expect, it } from 'vitest';
import { volumePath } from './engine-image.ts';

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
