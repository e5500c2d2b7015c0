import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionResult, Hotcell, NetworkSetting, OpenOptions, Session } from '../../src/index.ts';
import type { Online } from '../support/online.ts';
import type { Target, TargetName } from '../support/targets.ts';
import type { TestMethods } from '../support/test-methods.ts';

/** What a proof works with. `session` is shared by the proofs of a file; `fresh` is one's own, closed after the proof. */
export interface Context {
  readonly target: Target;
  readonly hotcell: Hotcell;
  readonly session: Session;
  fresh(options?: OpenOptions): Promise<Session>;
  /** As `fresh`, with a short interrupt ladder: for code that must be killed, where the default grace only costs time. */
  impatient(): Promise<Session>;
  /** As `fresh`, of a host that serves the methods of test-methods.ts. */
  calling(): Promise<{ readonly session: Session; readonly tests: TestMethods }>;
  /** Servers of the test's own, and sessions of a host whose ceiling names them; `open` is as `fresh`. */
  online(): Promise<{ readonly servers: Online; open(network: NetworkSetting): Promise<Session> }>;
}

/** Reasons why a requirement says nothing about some targets. */
export type Exemptions = Readonly<Partial<Record<TargetName, string>>>;

/**
 * What a requirement is about. `guest`: what runs inside, the same bytes on every target. `driver`: what a target itself does.
 * `where-proved.ts` says where each is proved.
 */
export type RequirementTag = 'guest' | 'driver';

/** A requirement, and the one proof of it. The proof throws when it does not hold. */
export interface Requirement {
  readonly id: string;
  readonly tag: RequirementTag;
  readonly title: string;
  /** The targets that it says nothing about, each with the reason. They show up as skipped tests. */
  readonly exempt?: Exemptions;
  prove(context: Context): Promise<void>;
}

export async function stdoutOf(session: Session, code: string, timeoutMs = 30_000): Promise<string> {
  const result = await session.run(code, { timeoutMs });
  if (result.outcome.kind !== 'ok') throw new Error(`${describe(result)}\n--- code\n${code}`);
  return result.stdout.trim();
}

/** Not among what a kernel loads by itself: where it is there, the kernel was forked from the stage that has the preloads. */
const PRELOAD = 'colorsys';

/** A session whose kernel comes from the stage with the preloads, as those of most users do. */
export async function warmSession({ fresh }: Pick<Context, 'fresh'>): Promise<Session> {
  // A sandbox that was opened before the stage was ready may stay with what it has, and one of its own may get ready while it waits.
  for (let opened = 0; opened < 20; opened += 1) {
    const session = await fresh({ preloads: [PRELOAD] });
    for (let reset = 0; reset < 10; reset += 1) {
      if ((await stdoutOf(session, `import sys; print("${PRELOAD}" in sys.modules)`)) === 'True') return session;
      await sleep(50);
      await session.reset();
    }
  }
  throw new Error('no kernel came from the stage with the preloads');
}

function describe(result: ExecutionResult): string {
  const { outcome } = result;
  return outcome.kind === 'raised' ? outcome.traceback.join('\n') : `${outcome.kind}: ${result.stderr.slice(-2000)}`;
}
