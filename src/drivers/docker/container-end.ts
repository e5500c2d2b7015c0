import type { Container } from 'dockerode';
import { saidInside } from '../../lib/said-inside.ts';
import type { SandboxEnd } from '../../sandbox/driver.ts';
import { statusOf } from './engine-errors.ts';

const LAST_WORDS_MS = 2_000;

/** Whether the container runs. Returns false when the engine does not answer. Never rejects. */
export async function isRunning(container: Container): Promise<boolean> {
  try {
    const { State: state } = await container.inspect({ abortSignal: AbortSignal.timeout(LAST_WORDS_MS) } as object);
    return state.Running;
  } catch {
    return false;
  }
}

/** Asks the engine, after the connection has ended, whether and why the container ended. Never rejects. */
export async function howItEnded(container: Container, stderrTail: string): Promise<SandboxEnd> {
  try {
    const abortSignal = AbortSignal.timeout(LAST_WORDS_MS);
    await container.wait({ condition: 'not-running', abortSignal });
    const { State: state } = await container.inspect({ abortSignal } as object);
    // `OOMKilled` is also set when the OOM killer ended an earlier kernel that was replaced.
    if (state.OOMKilled && state.ExitCode === 137) return { kind: 'out-of-memory' };
    const said = stderrTail.trim();
    return {
      kind: 'exited',
      detail: `the container ended with ${state.ExitCode}${said === '' ? '' : `: ${saidInside(said)}`}`,
    };
  } catch (error) {
    if (statusOf(error) === 404) return { kind: 'lost', detail: 'the container was removed from outside' };
    return { kind: 'lost', detail: 'the connection to the container was lost' };
  }
}
