/** A test runner that needs no node_modules: the machine has only Node and this tree. Prints a line per check as it ends. */
export function createChecks(print = console.log) {
  let passed = 0;
  let failed = 0;
  return {
    /** @param {string} title a sentence about behaviour; @param {() => unknown} prove throws when it does not hold */
    async check(title, prove) {
      const startedAt = performance.now();
      try {
        await prove();
        passed += 1;
        print(`ok - ${title}${duration(performance.now() - startedAt)}`);
      } catch (error) {
        failed += 1;
        print(`not ok - ${title}`);
        print(String(error?.stack ?? error).replaceAll(/^/gm, '    '));
      }
    },
    /** @returns {number} the exit code */
    close() {
      print(`${passed} passed, ${failed} failed`);
      return failed === 0 && passed > 0 ? 0 : 1;
    },
  };
}

/** Only where it is worth a look. */
function duration(ms) {
  return ms < 500 ? '' : ` (${(ms / 1000).toFixed(1)} s)`;
}
