import { relative } from 'node:path';

/** Counts the results of vitest's JSON reporter. A file that could not be loaded counts as one failure. */
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

/** The command that repeats each failed test alone. A file that could not be loaded is repeated as a whole. */
export function repeatCommands(results, { root, requireAll = false }) {
  const repeat = (file, ...args) =>
    [...(requireAll ? ['HOTCELL_TEST_REQUIRE=all'] : []), 'npx vitest run', quoted(relative(root, file)), ...args].join(
      ' ',
    );
  return results.testResults
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name: file, assertionResults }) => {
      const failed = assertionResults.filter(({ status }) => status === 'failed');
      if (failed.length === 0) return [repeat(file)];
      return failed.map(({ fullName }) => repeat(file, '-t', quoted(`${escaped(fullName)}$`)));
    });
}

/** Escapes a test name for vitest, which expects a regular expression. */
function escaped(name) {
  return name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export const nothing = { passed: 0, failed: 0, skipped: 0 };

export function sum(counts) {
  const add = (key) => counts.reduce((total, count) => total + count[key], 0);
  return { passed: add('passed'), failed: add('failed'), skipped: add('skipped') };
}

export function summaryLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
