import { describe, expect, it } from 'vitest';
import { isRecentVersion } from './runsc.ts';

describe('a runsc that is installed', () => {
  it.each([
    ['runsc version release-20260901.0\nspec: 1.2.1\n', true],
    ['runsc version VERSION_MISSING\nspec: 1.2.1\n', true],
    ['runsc version 0.0~20221219.0\nspec: 1.0.2\n', false],
  ])('that says %j is recent enough: %s', (output, recent) => {
    expect(isRecentVersion(output)).toBe(recent);
  });
});
