import assert from 'node:assert/strict';

/**
 * That Hotcell's own limits are hard under cgroup v2: as root, and as an unprivileged user in a delegated subtree
 * (`withDelegatedSubtree` and `runInside` in cgroup.mjs start a process there).
 *
 * @param hotcell what `dist/index.js` exports
 */
export async function hotcellChecks(check, hotcell) {
  await check('the built library loads on this machine', () => {
    assert.equal(typeof hotcell.openHotcell, 'function');
  });
}
