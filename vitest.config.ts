import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const BESIDE = ['test/e2e/**/*.test.ts', 'test/security/http-*.test.ts', 'test/security/mcp-*.test.ts'];

/** What takes minutes of waiting begins first, so that nothing waits for it at the end. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => moduleId.endsWith('-long-run.test.ts');
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    passWithNoTests: true,
    sequence: { sequencer: LongFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/architecture.test.ts'],
          testTimeout: 10_000,
          // Nothing in src has state at module level, so files can share a worker: most of the time would go into starting them.
          pool: 'threads',
          isolate: false,
        },
      },
      {
        test: {
          name: 'full',
          include: ['test/**/*.test.ts'],
          globalSetup: ['test/support/built-guest.ts'],
          exclude: ['test/architecture.test.ts', ...BESIDE],
          // Files of real sandboxes share the machine's cores and count what is left behind on it.
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'beside',
          include: BESIDE,
          globalSetup: ['test/support/built-guest.ts'],
          // Programs of their own with data folders of their own, which mostly wait: they may run beside each other, when the others are done.
          maxWorkers: 3,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
