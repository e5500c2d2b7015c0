import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    passWithNoTests: true,
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
          exclude: ['test/architecture.test.ts'],
          // Files of real sandboxes share the machine's cores and count what is left behind on it.
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
