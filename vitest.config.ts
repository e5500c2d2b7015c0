import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const CONFORMANCE = ['test/conformance/**/*.test.ts', 'test/integration/package-tests.test.ts'];
const PROGRAMS = ['test/e2e/**/*.test.ts'];

/** They need the machine for themselves. Whatever else counts what is left behind does so by its own data folder. */
const ALONE = [
  // It measures how quickly a sandbox answers.
  'test/security/noisy-neighbour.test.ts',
];

/** They disturb others that use engines, so they run beside the unit tests, which use none. */
const ENGINES = [
  // It starts and kills engines, each of which takes a machine for seconds.
  'test/integration/engine-faults.test.ts',
  // Its image makes volumes, which have no owner: others count all of them.
  'test/security/hostile-image.test.ts',
];

/** They measure memory or time of the process that they run in, so each has one of its own. */
const MEASURED = [
  'test/memory-cost.test.ts',
  'test/fuzz/forged-guest.test.ts',
  ...['hostile-guest-memory', 'http-hostile-clients', 'http-hostile-output', 'kept-results', 'mcp-event-loop'].map(
    (name) => `test/security/${name}.test.ts`,
  ),
  ...['calls-memory', 'output-cost', 'unread-displays', 'validation-cost'].map(
    (name) => `test/security/${name}.test.ts`,
  ),
];

/** Real MCP clients, which are downloaded first: `npm run test:clients`, and beside the others with --require-all. */
const CLIENTS = ['test/clients/**/*.test.ts'];

/** They take minutes and mostly wait. `npm test` runs them while the others work. */
const WAITING = ['test/**/*-long-run.test.ts'];

/** What is waited for is there in time or never: these only tell the two apart, on a machine that others keep busy. What must be quick says so itself. */
const LIMITS = {
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 20_000 } },
  // One more turn in CI, whose machine others keep busy; the report names what needed it. A barrier that does not hold fails both times; races against an attacker get no second turn (`*-exchange`).
  retry: process.env.CI === 'true' ? 1 : 0,
};

/**
 * Files that share the machine. They mostly wait, so that there may be more of them than processors. With --require-all there is more of what takes a
 * processor for itself, and others count on answers in time.
 */
const SHARED = {
  ...LIMITS,
  maxWorkers: process.env.HOTCELL_TEST_REQUIRE === 'all' ? 3 : 4,
  sequence: { groupOrder: 1 },
};

/** By itself vitest leaves a processor free, which on two means that one worker does all. */
const FIRST = { maxWorkers: Math.max(2, availableParallelism()), sequence: { groupOrder: 0 } };

/** The longest of those. One that begins last and takes longest is waited for alone. */
const LONGEST = [
  ...[
    'engine-faults',
    'hostile-image',
    'gvisor',
    'docker',
    'mount-exchange',
    'process-single',
    'process-shared',
    'process-soft',
    'nothing-left',
  ],
  ...['package-tests', 'serve', 'cli', 'mcp-tools', 'code-sandbox-faults', 'persistent-sessions'],
];

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
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 20_000 } },
          retry: LIMITS.retry,
          // Modules of src share no state that matters (test/architecture.test.ts), so files can share a worker: most of the time would go into starting them.
          pool: 'threads',
          isolate: false,
          ...FIRST,
        },
      },
      {
        test: {
          name: 'engines',
          include: ENGINES,
          globalSetup: ['test/support/built-guest.ts'],
          ...LIMITS,
          ...FIRST,
        },
      },
      {
        test: {
          name: 'conformance',
          include: CONFORMANCE,
          globalSetup: ['test/support/built-guest.ts'],
          // As those below.
          isolate: false,
          ...SHARED,
        },
      },
      {
        test: {
          name: 'full',
          include: ['test/**/*.test.ts'],
          globalSetup: ['test/support/built-guest.ts'],
          exclude: [
            'test/architecture.test.ts',
            ...CONFORMANCE,
            ...PROGRAMS,
            ...MEASURED,
            ...ALONE,
            ...ENGINES,
            ...WAITING,
            ...CLIENTS,
          ],
          // Files share a worker, one after the other: to load the sources anew for each takes seconds. What a file changes in its process it changes back.
          isolate: false,
          ...SHARED,
        },
      },
      {
        test: {
          name: 'measured',
          include: MEASURED,
          globalSetup: ['test/support/built-guest.ts'],
          ...SHARED,
        },
      },
      {
        test: {
          name: 'beside',
          include: PROGRAMS,
          exclude: WAITING,
          globalSetup: ['test/support/built-guest.ts'],
          // They start the built program and talk to it: files can share a worker, which has the clients loaded already.
          isolate: false,
          ...SHARED,
        },
      },
      {
        test: {
          name: 'alone',
          include: ALONE,
          globalSetup: ['test/support/built-guest.ts'],
          fileParallelism: false,
          ...LIMITS,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'clients',
          include: CLIENTS,
          globalSetup: ['test/support/built-guest.ts', 'test/support/installed-clients.ts'],
          ...LIMITS,
          maxWorkers: 2,
          maxConcurrency: 3,
          sequence: { groupOrder: 4 },
        },
      },
      {
        test: {
          name: 'waiting',
          include: WAITING,
          globalSetup: ['test/support/built-guest.ts'],
          ...LIMITS,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
