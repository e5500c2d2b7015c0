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

export function summaryLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
