import type * as z from 'zod';

/**
 * A method that programs in a sandbox can call, as one value: a factory in a file of `src/broker/methods/`,
 * and a line in `registry.ts`. The broker calls it; everything about a call derives from this (the checks, the limits, the clock, the
 * audit log).
 */
export interface Method<Argument = unknown> {
  readonly name: string;
  /** The argument, which any process in the sandbox may have written. One that does not match fails as `bad-argument`. */
  readonly argument: z.ZodType<Argument>;
  readonly limits: MethodLimits;
  /**
   * Whether the execution waits for work outside of its sandbox: its timeout is paused and its slot given back while
   * `serve` runs. CPU time and the absolute limit go on. False for streams of bytes, which the program itself drives.
   */
  readonly pausesClock: boolean;
  /**
   * Whether a call takes one of the places that the broker has for calls at once. False for connections, which may stay
   * open for hours: those have limits of their own.
   */
  readonly takesPlace: boolean;
  /**
   * Whether programs call it. False for what only the supervisor calls, for connections to its listeners: a session with
   * such methods alone does not listen for calls of programs.
   */
  readonly isForPrograms: boolean;
  /** Whether the method reports its decisions in events of its own, so that the end of a call is not reported again. */
  readonly reportsItself: boolean;
  /** Facts of a call for the audit log, such as a host or a model. Never contents. */
  readonly audit: (argument: Argument) => Readonly<Record<string, string | number | boolean>>;
  /**
   * Serves one call; resolves with the result, unless `exchange.result` was called. A CallError or a HotcellError
   * becomes the typed error of the caller; of any other error the caller learns only that there was one. It must end
   * soon after `exchange.signal` is aborted: its place among the calls of its owner is held until it does.
   */
  serve(argument: Argument, exchange: Exchange): Promise<unknown>;
}

export interface MethodLimits {
  /** The JSON argument, held in memory while the call lasts. */
  readonly argumentBytes: number;
  /**
   * Members and elements of the argument. SECURITY: a schema lists the faults of every wrong element, on the main thread;
   * 100,000 of them take a second. Raise it only with a schema that bounds its lists (`.max`).
   */
  readonly argumentMembers: number;
  /** Bytes that the caller streams after its argument; 0 if the method takes none. */
  readonly inputBytes: number;
  /** Bytes that the caller gets: the JSON result and the streamed output. */
  readonly outputBytes: number;
  /** After this time the call fails as `timed-out`; Infinity for a stream that may stay open. */
  readonly durationMs: number;
}

/** The caller, as the host knows it. `execution` is a running one of this session, or null for a background process. */
export interface Caller {
  readonly owner: string;
  /** The unique id of the session. */
  readonly session: string;
  readonly execution: string | null;
}

/** One call, as its method sees it: bytes in both directions, each with backpressure. */
export interface Exchange {
  readonly caller: Caller;
  /**
   * Aborted when the call ends before `serve` does: its caller, its execution, its session or the channel is gone, or it
   * took too long.
   */
  readonly signal: AbortSignal;
  /** Bytes that the caller streams, until it half-closes. Rejects when the call ends. It can be read once. */
  readonly input: AsyncIterable<Buffer>;
  /** Resolves when the bytes are on their way; waits for the caller's credit. Rejects when the call has ended. */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Writes bytes if that is possible at once; they are copied before it returns, so that their buffer can be used again.
   * False if they would have to wait: none are taken then. Throws when the call has ended.
   */
  writeNow(bytes: Buffer): boolean;
  /** Undefined if `writeNow` would take bytes. Otherwise resolves when it may, or the call has ended. */
  untilReady(): Promise<void> | undefined;
  /** Half-closes the host's side: the caller reads the end of the output, and can go on writing. Idempotent. */
  end(): Promise<void>;
  /** Sends the result before the output, for a caller that must know first whether there will be any. At most once. */
  result(value: unknown): Promise<void>;
}

/** Codes of section 10 of the protocol that a method itself may fail with, or its own: lower case, at most 40 characters. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const MiB = 1_048_576;
export const DEFAULT_LIMITS: MethodLimits = {
  argumentBytes: MiB,
  argumentMembers: 10_000,
  inputBytes: 0,
  outputBytes: 16 * MiB,
  durationMs: 10 * 60_000,
};

type Defaulted = 'limits' | 'pausesClock' | 'takesPlace' | 'isForPrograms' | 'reportsItself' | 'audit';

export interface MethodDefinition<Argument> extends Omit<Method<Argument>, Defaulted> {
  readonly limits?: Partial<MethodLimits>;
  readonly pausesClock?: boolean;
  readonly takesPlace?: boolean;
  readonly isForPrograms?: boolean;
  readonly reportsItself?: boolean;
  readonly audit?: Method<Argument>['audit'];
}

/** Completes a method with the defaults. The argument's type is known to `serve` and `audit` alone. */
export function defineMethod<Argument>(definition: MethodDefinition<Argument>): Method {
  return {
    pausesClock: false,
    takesPlace: true,
    isForPrograms: true,
    reportsItself: false,
    audit: () => ({}),
    ...definition,
    limits: { ...DEFAULT_LIMITS, ...definition.limits },
  } as Method<Argument> as unknown as Method;
}
