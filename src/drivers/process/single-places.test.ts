import { describe, expect, test } from 'vitest';
import { requireDirectPlaces } from './single-places.ts';

const writable = (target: string) => ({ target, readOnly: false });
const readOnly = (target: string) => ({ target, readOnly: true });

describe('mount targets that bubblewrap creates', () => {
  test.each([
    [[writable('/data'), readOnly('/data/x')]],
    [[writable('/data'), writable('/data-more/x/y')]],
    [[readOnly('/data'), readOnly('/data/x/y')]],
    [[readOnly('/deep/er/still')]],
  ])('no other session can exchange a folder on the way: %j', (mounts) => {
    expect(() => requireDirectPlaces(mounts)).not.toThrow();
  });

  test.each([
    [[writable('/data'), readOnly('/data/x/y')]],
    [[readOnly('/data/x/y'), writable('/data')]],
    [[writable('/data'), readOnly('/data/x'), readOnly('/data/x/y')]],
    [[writable('/workspace'), writable('/workspace/a/b/c')]],
  ])('one could: %j', (mounts) => {
    expect(() => requireDirectPlaces(mounts)).toThrow(expect.objectContaining({ code: 'mount_denied' }));
  });
});
