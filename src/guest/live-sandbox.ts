import { HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import { createBoundedOutput } from '../lib/bounded-output.ts';
import type { Driver, Sandbox } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import { connectGuest, type GuestConnection } from './connection.ts';

/** A sandbox with its guest connected: what a session holds and a pool keeps ready. */
export interface LiveSandbox {
  readonly sandbox: Sandbox;
  readonly connection: GuestConnection;
  /** Bytes of output that were dropped while nobody was connected go to whoever runs an execution. */
  onGap: ((bytes: number) => void) | undefined;
  /** The last of what background processes printed after their execution had ended. */
  background(): string;
  /** Whether the memory limit has killed a process since this was last asked. */
  sawMemoryKill(): Promise<boolean>;
  dispose(): Promise<void>;
}

const BACKGROUND_BYTES = 65_536;

/** Makes a sandbox and shakes hands with its guest; the first kernel may still be starting. All or nothing. */
export async function openLiveSandbox(
  driver: Driver,
  spec: SandboxSpec,
  startTimeoutMs: number,
  { signal, warm = false }: { signal?: AbortSignal | undefined; warm?: boolean } = {},
): Promise<LiveSandbox> {
  // Not AbortSignal.timeout, which would let the process end while somebody waits for this.
  const limitReached = new AbortController();
  const limit = limitReached.signal;
  const timer = setTimeout(() => limitReached.abort(), startTimeoutMs);
  const combined = signal === undefined ? limit : AbortSignal.any([limit, signal]);
  let sandbox: Sandbox | undefined;
  try {
    sandbox = await driver.create(spec, { signal: combined, warm });
    const background = createBoundedOutput({ headBytes: 0, tailBytes: BACKGROUND_BYTES });
    const live: { onGap: ((bytes: number) => void) | undefined } = { onGap: undefined };
    const connection = await connectGuest(sandbox.channel, {
      config: sandbox.guestConfig,
      signal: combined,
      onGap: (bytes) => live.onGap?.(bytes),
      onBackground: ({ body }) => background.push(body),
    });
    const made = sandbox;
    let memoryKillsSeen = 0;
    // A guest that broke the protocol, or fell silent, loses its sandbox; whoever waits hears it from the connection.
    void connection.ended.then(() => made.dispose()).catch(() => {});
    return Object.assign(live, {
      sandbox: made,
      connection,
      background: () => background.text(),
      sawMemoryKill: async () => {
        const { memoryKills = 0 } = await made.usage();
        const before = memoryKillsSeen;
        memoryKillsSeen = memoryKills;
        return memoryKills > before;
      },
      dispose: async () => {
        connection.close();
        await made.dispose();
      },
    });
  } catch (error) {
    await sandbox?.dispose();
    if (signal?.aborted === true) throw new HotcellError('cancelled', 'the opening was withdrawn');
    if (limit.aborted) {
      throw new HotcellError('start_timeout', `${driver.name}: no sandbox was ready within ${startTimeoutMs} ms`, {
        remedy: 'Try again; if the host is slow, raise startTimeoutMs.',
        cause: error,
      });
    }
    throw toHotcellError(error);
  } finally {
    clearTimeout(timer);
  }
}
