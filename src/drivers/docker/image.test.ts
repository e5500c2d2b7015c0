import { describe, expect, it } from 'vitest';
import { imageTag, standardImageTag, wheelPlatforms } from './image.ts';

describe('the standard image’s tag', () => {
  it('depends on the contents alone', () => {
    expect(imageTag('FROM a', 'numpy==1')).toBe(imageTag('FROM a', 'numpy==1'));
    expect(imageTag('FROM a', 'numpy==2')).not.toBe(imageTag('FROM a', 'numpy==1'));
    expect(imageTag('FROM b', 'numpy==1')).not.toBe(imageTag('FROM a', 'numpy==1'));
  });

  it('changes when bytes move from one file to the next', () => {
    expect(imageTag('ab', 'c')).not.toBe(imageTag('a', 'bc'));
  });

  it('is a name Docker accepts', () => {
    expect(standardImageTag()).toMatch(/^hotcell\/python:[0-9a-f]{12}$/);
  });
});

describe('wheels', () => {
  it('are asked for by the engine’s architecture', () => {
    expect(wheelPlatforms('arm64')).toContain('manylinux_2_28_aarch64');
    expect(wheelPlatforms('amd64')).toContain('manylinux2014_x86_64');
  });
});
