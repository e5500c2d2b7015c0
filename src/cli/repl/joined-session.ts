import * as z from 'zod';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { ExecutionEvent } from '../../execution/events.ts';
import type { Display } from '../../execution/result.ts';
import { completionAnswer, variablesAnswer } from '../../guest/answers.ts';
import { quotedOutcome } from '../run/ending.ts';
import { parseExecution, type RemoteAnswer, type RemoteHotcell } from '../run/remote-hotcell.ts';
import { serverUrl } from '../run/server-errors.ts';
import { misbehaved } from '../run/server-requests.ts';
import type { ReplExecution, ReplResult, ReplRunOptions, ReplSession } from './session.ts';

export interface JoinedOptions {
  readonly server: string;
  readonly session: string;
  /** Called with the id of each own execution. Until then, `asking` is pending. */
  onAsked(asking: Promise<string | undefined>): void;
}

/** Maximum of updated displays, equal to the maximum of displays in a result. */
const MOST_UPDATED = 1_000;

const inspection = z.object({
  name: z.string(),
  type: z.string(),
  summary: z.string().optional(),
  signature: z.string().optional(),
  file: z.string().optional(),
  doc: z.string().optional(),
});
const variable = z.object({
  name: z.string(),
  type: z.string(),
  summary: z.string(),
  size_bytes: z.number().optional(),
  length: z.number().optional(),
  shape: z.array(z.number()).max(32).optional(),
});
const variables = z.object({ variables: z.array(variable).max(1_000), total: z.number() });
const files = z.object({
  entries: z
    .array(z.object({ path: z.string(), kind: z.enum(['file', 'folder', 'link', 'other']), size_bytes: z.number() }))
    .max(1_000),
  omitted: z.number(),
});

/** A session of a server, which others use too. SECURITY: its answers are checked, because the server may be hostile. */
export function joinSession(remote: RemoteHotcell, { server, session, onAsked }: JoinedOptions): ReplSession {
  const base = serverUrl(server);

  function parsed<T>(schema: z.ZodType<T>, answer: unknown): T {
    const found = schema.safeParse(answer);
    if (found.success) return found.data;
    throw misbehaved(base, 'sent an invalid answer');
  }

  async function call(name: string, args: object): Promise<RemoteAnswer> {
    return remote.call(name, { session_id: session, ...args });
  }

  return {
    run: (code, options) => startRun(remote, { server, session, onAsked }, code, options),
    async complete(code, { cursor, language = 'python' } = {}) {
      const about = { code, language, ...(cursor === undefined ? {} : { cursor }) };
      const { start, end, matches } = parsed(completionAnswer, await remote.ask(session, 'complete', about));
      return { start, end, matches: matches.map(({ text }) => ({ text })) };
    },
    async inspect(code, { language = 'python' } = {}) {
      const found = parsed(inspection.nullable(), await remote.ask(session, 'inspect', { code, language }));
      return (found ?? undefined) as Awaited<ReturnType<ReplSession['inspect']>>;
    },
    variables: {
      async list({ language = 'python', limit = 100 } = {}) {
        const { data } = await call('inspect_variables', { language, limit });
        const { variables: listed, total } = parsed(variables, data);
        const named = listed.map(({ size_bytes, ...each }) => ({ ...each, sizeBytes: size_bytes }));
        return parsed(variablesAnswer, { variables: named, total }) as Awaited<
          ReturnType<ReplSession['variables']['list']>
        >;
      },
    },
    files: {
      async list(path = '.', { recursive = false, limit = 200 } = {}) {
        const { entries, omitted } = parsed(files, (await call('list_files', { path, recursive, limit })).data);
        return {
          entries: entries.map(({ size_bytes, ...entry }) => ({ ...entry, sizeBytes: size_bytes, modifiedMs: 0 })),
          omitted,
        };
      },
    },
    reset: async () => void (await call('reset_session', {})),
    exportNotebook: () => {
      throw new HotcellError('not_offered', '%save: a session of a server cannot be saved from here', {
        remedy: 'Use %history, or run the code in a REPL of its own.',
      });
    },
  };
}

/**
 * Runs code on the server. Pictures are not in the stream, so they are shown when it has ended; of an updated display,
 * its last state.
 */
function startRun(
  remote: RemoteHotcell,
  { server, session, onAsked }: JoinedOptions,
  code: string,
  { language, filename, timeoutMs, signal }: ReplRunOptions,
): ReplExecution {
  const asking = remote.run(session, {
    ...{ code, language, filename },
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
  });
  onAsked(asking.then(({ executionId }) => executionId).catch(() => undefined));
  let result: ReplResult | undefined;

  async function* events(): AsyncGenerator<ExecutionEvent> {
    const run = await asking;
    const execution = { execution_id: run.executionId, session_id: session };
    const cancel = () => void remote.call('get_execution', { ...execution, cancel: true }).catch(() => {});
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    const updated = new Map<string, Display>();
    try {
      for await (const event of run) {
        const shown = event.kind === 'display' ? onlyText(event) : event;
        if (shown === undefined) continue;
        if (shown.kind === 'display' && shown.update && shown.id !== undefined) {
          if (updated.has(shown.id) || updated.size < MOST_UPDATED) updated.set(shown.id, shown);
        }
        yield shown;
      }
    } finally {
      signal.removeEventListener('abort', cancel);
    }
    const outcome = quotedOutcome(run.outcome());
    const answer = await remote.call('get_execution', execution);
    const { value, notes } = parseExecution(answer.data, server);
    for (const picture of answer.pictures) yield { kind: 'display', update: false, representations: [picture] };
    result = {
      outcome,
      ...(value === undefined ? {} : { value: { text: value, truncated: false, representations: [] } }),
      displays: [...updated.values()],
      ...{ state: 'kept', files: 'kept' },
      // The first note is about the outcome, which is shown anyway.
      notes: outcome.kind === 'ok' || outcome.kind === 'raised' ? notes : notes.slice(1),
    };
  }

  const iterator = events();
  return {
    [Symbol.asyncIterator]: () => iterator,
    // biome-ignore lint/suspicious/noThenProperty: an execution is awaited for its result, as one of the library is.
    then: async (resolve, reject) => {
      for await (const _ of iterator);
      return Promise.resolve(result!).then(resolve, reject);
    },
  };
}

/** A display of a stream has only its text. A picture comes with the result. */
function onlyText(display: Extract<ExecutionEvent, { kind: 'display' }>): typeof display | undefined {
  if (display.representations.some(({ mediaType }) => mediaType.startsWith('image/'))) return undefined;
  const representations = display.representations.filter(({ mediaType }) => mediaType === 'text/plain');
  return representations.length === 0 ? undefined : { ...display, representations };
}
