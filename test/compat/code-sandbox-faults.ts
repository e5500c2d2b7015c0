/** What the system that the profile `code-sandbox` stands in for got wrong. Each line has a proof in test/e2e/code-sandbox-faults.test.ts. */
export const CODE_SANDBOX_FAULTS = [
  'code that ignores SIGTERM hung the session for ever',
  "orphan cleanup killed other live instances' containers",
  'output and artifacts buffered whole before the caps applied',
  'no pids or disk limit',
  'uploads not writable by the sandbox user',
  'artifacts reported only on success and only at top level',
  'no authentication on downloads',
] as const;
export type CodeSandboxFault = (typeof CODE_SANDBOX_FAULTS)[number];
