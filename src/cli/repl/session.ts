import type { ExecutionEvent } from '../../execution/events.ts';
import type { ExecutionResult } from '../../execution/result.ts';
import type { Session } from '../../main.ts';

/** The parts of a session that the REPL uses: of its own, or of one on a server. */
export interface ReplSession extends Pick<Session, 'complete' | 'inspect' | 'reset' | 'exportNotebook'> {
  readonly variables: Pick<Session['variables'], 'list'>;
  readonly files: Pick<Session['files'], 'list'>;
  run(code: string, options: ReplRunOptions): ReplExecution;
}

export interface ReplRunOptions {
  readonly language: string;
  readonly filename: string;
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
}

/** Iterate over it for its output, then await it for its result. */
export type ReplExecution = AsyncIterable<ExecutionEvent> & PromiseLike<ReplResult>;

export interface ReplResult
  extends Pick<ExecutionResult, 'outcome' | 'value' | 'displays' | 'state' | 'files' | 'restarted' | 'network'> {
  readonly truncation?: Pick<NonNullable<ExecutionResult['truncation']>, 'displaysDropped'>;
  /** What a server says about the state of the session. */
  readonly notes?: readonly string[];
}
