import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const CONFORMANCE = ['test/conformance/**/*.test.ts', 'test/integration/package-tests.test.ts'];
const BESIDE = ['test/e2e/**/*.test.ts', 'test/security/http-*.test.ts', 'test/security/mcp-*.test.ts'];

/** They take minutes and mostly wait. `npm test` runs them while the others work. */
const WAITING = ['test/**/*-long-run.test.ts'];

/** What is waited for is there in time or never: these only tell the two apart, on a machine that others keep busy. What must be quick says so itself. */
const LIMITS = {
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 20_000 } },
  // One more turn in CI, whose machine others keep busy; the report names what needed it. A barrier that does not hold fails both times.
  retry: process.env.CI === 'true' ? 1 : 0,
};

/** Of files that run beside each other. One that begins last and takes longest is waited for alone. */
const LONGEST = ['gvisor', 'docker', 'process-single', 'process-shared', 'mcp-tools', 'serve', 'cli'];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return place === -1 ? LONGEST.length : place;
    };
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}

export default defineConfig({
  test: {
    passWithNoTests: true,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/architecture.test.ts'],
          testTimeout: 30_000,
          expect: { poll: { timeout: 10_000 } },
          // Nothing in src has state at module level, so files can share a worker: most of the time would go into starting them.
          pool: 'threads',
          isolate: false,
        },
      },
      {
        test: {
          name: 'conformance',
          include: CONFORMANCE,
          globalSetup: ['test/support/built-guest.ts'],
          // What these measure is their own sandbox's, so that two may share the machine.
          maxWorkers: 2,
          ...LIMITS,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'full',
          include: ['test/**/*.test.ts'],
          globalSetup: ['test/support/built-guest.ts'],
          exclude: ['test/architecture.test.ts', ...CONFORMANCE, ...BESIDE, ...WAITING],
          // Files of real sandboxes share the machine's cores and count what is left behind on it.
          fileParallelism: false,
          ...LIMITS,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'beside',
          include: BESIDE,
          exclude: WAITING,
          globalSetup: ['test/support/built-guest.ts'],
          // Programs of their own with data folders of their own, which mostly wait: they may run beside each other, when the others are done.
          maxWorkers: 3,
          ...LIMITS,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          name: 'waiting',
          include: WAITING,
          globalSetup: ['test/support/built-guest.ts'],
          ...LIMITS,
          sequence: { groupOrder: 4 },
        },
      },
    ],
  },
});
