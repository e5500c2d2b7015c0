import { HotcellError } from '../errors/hotcell-error.ts';
import type { LiveSandbox } from '../guest/live-sandbox.ts';
import { nothing } from '../guest/nothing.ts';
import { unlessAborted } from '../lib/abort.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';

export interface HandOverLimits {
  /** Aborted when the opening is withdrawn. */
  readonly signal: AbortSignal | undefined;
  /** Aborted when the pool closes. */
  readonly stop: AbortSignal;
  readonly timeoutMs: number;
}

/**
 * Makes a sandbox of the pool that of a session: sends it the session's variables, which it was created without.
 * Undefined if its guest does not answer in time; then nothing is left of it. Rejects only if the signal aborts.
 *
 * SECURITY: a guest may be a caller's program, and stay silent.
 */
export async function handOver(
  live: LiveSandbox,
  { environment }: Pick<SandboxSpec, 'environment'>,
  { signal, stop, timeoutMs }: HandOverLimits,
): Promise<LiveSandbox | undefined> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), Math.max(0, timeoutMs));
  const limit = AbortSignal.any([late.signal, stop, ...(signal === undefined ? [] : [signal])]);
  try {
    limit.throwIfAborted();
    if (Object.keys(environment).length === 0) return live;
    const answered = live.connection.request({ type: 'environment', variables: environment }, nothing);
    await unlessAborted(answered, limit);
    return live;
  } catch {
    await live.dispose().catch(() => {});
    if (signal?.aborted === true) throw new HotcellError('cancelled', 'the opening was withdrawn');
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
