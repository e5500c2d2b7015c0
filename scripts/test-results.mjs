/** Sums up what vitest's JSON reporter wrote. A file that could not even be loaded counts as one failure. */
export function countResults(results) {
  const assertions = results.testResults.flatMap((file) => file.assertionResults);
  const count = (...states) => assertions.filter((assertion) => states.includes(assertion.status)).length;
  const unloaded = results.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((assertion) => assertion.status === 'failed'),
  ).length;
  return {
    passed: count('passed'),
    failed: count('failed') + unloaded,
    skipped: count('skipped', 'pending', 'todo', 'disabled'),
  };
}

export const nothing = { passed: 0, failed: 0, skipped: 0 };

export function sum(counts) {
  const add = (key) => counts.reduce((total, count) => total + count[key], 0);
  return { passed: add('passed'), failed: add('failed'), skipped: add('skipped') };
}

export function summaryLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
