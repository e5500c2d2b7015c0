import type { ExecutionResult, Hotcell, OpenOptions, Session } from '../../src/index.ts';
import type { Target } from '../support/targets.ts';

/** What a proof works with. `session` is shared by the proofs of a file; `fresh` is one's own, closed after the proof. */
export interface Context {
  readonly target: Target;
  readonly hotcell: Hotcell;
  readonly session: Session;
  fresh(options?: OpenOptions): Promise<Session>;
}

/** A requirement, and the one proof of it. The proof throws when it does not hold. */
export interface Requirement {
  readonly id: string;
  readonly title: string;
  /** Targets it says nothing about, each with the reason. */
  readonly exempt?: Readonly<Record<string, string>>;
  prove(context: Context): Promise<void>;
}

export async function stdoutOf(session: Session, code: string, timeoutMs = 30_000): Promise<string> {
  const result = await session.run(code, { timeoutMs });
  if (result.outcome.kind !== 'ok') throw new Error(`${describe(result)}\n--- code\n${code}`);
  return result.stdout.trim();
}

function describe(result: ExecutionResult): string {
  const { outcome } = result;
  return outcome.kind === 'raised' ? outcome.traceback.join('\n') : `${outcome.kind}: ${result.stderr.slice(-2000)}`;
}
