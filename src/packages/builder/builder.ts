import { HotcellError } from '../../errors/hotcell-error.ts';
import type { Command, CommandOptions } from '../../execution/command.ts';
import type { Execution } from '../../execution/execution.ts';
import type { ExecutionResult } from '../../execution/result.ts';
import { either, unlessAborted } from '../../lib/abort.ts';
import { createDeadline } from '../../lib/deadline.ts';
import type { SessionFiles } from '../../sessions/session-files.ts';
import type { Tool } from '../tools/kept-tool.ts';

/**
 * A sandbox in which packages are resolved, fetched and built. It has the driver and the image of the session that the packages are for, an owner of its own, and
 * lives for one step.
 *
 * SECURITY: build scripts are code of strangers, and run in builders only. A builder with a network holds nothing of a session; a builder that holds files of a
 * session has no network. A builder ends with the signal that it was opened with, and after its lifetime: every call rejects then, whatever its guest does.
 */
export interface Builder extends AsyncDisposable {
  /** The text that a program in the guest's own Python prints. */
  ask(program: string, signal?: AbortSignal): Promise<string>;
  /** Runs a program to its end in the workspace. */
  run(program: readonly string[], options?: StepOptions): Promise<Step>;
  write(path: string, content: string | Uint8Array): Promise<void>;
  /** A text file; undefined if there is none, or if it is larger. */
  read(path: string, mostBytes: number): Promise<string | undefined>;
  stream(path: string): AsyncIterable<Buffer>;
  /** Puts the programs of a tool on the search path, read-only. */
  add(tool: Tool): Promise<void>;
}

export interface StepOptions extends Pick<CommandOptions, 'environment' | 'signal'> {
  /** Called with each line that the program prints. */
  readonly onLine?: ((line: string) => void) | undefined;
}

/** A program that has ended. */
export interface Step {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The part of a session that a builder is made of. */
export interface BuilderSession {
  run(code: string, options?: { signal?: AbortSignal }): Pick<Execution, keyof PromiseLike<ExecutionResult>>;
  command(line: readonly string[], options?: CommandOptions): Command;
  readonly files: SessionFiles;
  addLayer(tree: string): Promise<unknown>;
  close(): Promise<void>;
}

export interface BuilderLimits {
  /** The time that one step may take. */
  readonly timeoutMs: number;
  /** The signal of the installation. */
  readonly signal?: AbortSignal | undefined;
}

/** The lifetime of a builder, in steps of the longest duration: another builder may resolve first, then packages are installed and packed, and the layer is sent. */
const LIFETIME_STEPS = 4;

export function builderOf(session: BuilderSession, { timeoutMs, signal: given }: BuilderLimits): Builder {
  const lifetimeMs = LIFETIME_STEPS * timeoutMs;
  const lifetime = createDeadline(lifetimeMs, () => late(lifetimeMs));
  const end = either(lifetime.signal, given);
  const abandon = () => void session.close().catch(() => {});
  end.addEventListener('abort', abandon, { once: true });
  if (end.aborted) abandon();
  const untilEnd = <T>(work: PromiseLike<T>) => unlessAborted(Promise.resolve(work), end);
  return {
    async ask(program, signal) {
      const { outcome, stdout } = await untilEnd(session.run(program, signal === undefined ? {} : { signal }));
      if (outcome.kind !== 'ok') throw failed('the sandbox could not be described', outcome.kind);
      return stdout;
    },
    async run(program, { onLine, ...options } = {}) {
      const command = session.command(program, { timeoutMs, ...options });
      if (onLine !== undefined) void lines(command, onLine).catch(() => {});
      const { outcome, stdout, stderr } = await untilEnd(command);
      options.signal?.throwIfAborted();
      return { exitCode: exitCodeOf(outcome, timeoutMs), stdout, stderr };
    },
    write: async (path, content) => void (await untilEnd(session.files.write(path, content))),
    async read(path, mostBytes) {
      try {
        return (await session.files.read(path, { limitBytes: mostBytes, signal: end })).toString('utf8');
      } catch (error) {
        if (error instanceof HotcellError && ['file_not_found', 'file_too_large', 'bad_path'].includes(error.code))
          return undefined;
        throw error;
      }
    },
    stream: (path) => session.files.stream(path, { signal: end }),
    add: async ({ tree }) => void (await untilEnd(session.addLayer(tree))),
    [Symbol.asyncDispose]: async () => {
      lifetime[Symbol.dispose]();
      end.removeEventListener('abort', abandon);
      await session.close();
    },
  };
}

function exitCodeOf(outcome: ExecutionResult['outcome'], timeoutMs: number): number {
  if (outcome.kind === 'ok') return 0;
  if (outcome.kind === 'exited') return outcome.exitCode;
  if (outcome.kind === 'timed-out') throw late(timeoutMs);
  if (outcome.kind === 'out-of-memory')
    throw failed('fetching or building the packages took more memory than a builder has', outcome.kind);
  throw failed('the sandbox in which packages are built ended unexpectedly', outcome.kind);
}

function late(ms: number): HotcellError {
  return failed(`packages were not ready within ${Math.round(ms / 1000)} s`, 'timed-out');
}

function failed(message: string, outcome: string): HotcellError {
  return new HotcellError('install_failed', message, {
    remedy: 'Install fewer or smaller packages at once, or versions that come as wheels.',
    data: { outcome },
  });
}

const LONGEST_LINE = 200;

/** Calls `onLine` with the lines of both streams, without control characters and cut: they are shown to people. */
async function lines(command: Command, onLine: (line: string) => void): Promise<void> {
  let rest = '';
  for await (const event of command) {
    if (event.kind !== 'stdout' && event.kind !== 'stderr') continue;
    const parts = (rest + event.text).split('\n');
    rest = parts.pop()!.slice(-LONGEST_LINE);
    for (const line of parts) {
      const shown = line.replace(/\p{C}/gu, ' ').trim();
      if (shown !== '') onLine(shown.slice(0, LONGEST_LINE));
    }
  }
}
