import type { CallToolResult, ContentBlock, InputRequiredResult, ToolAnnotations } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { toHotcellError } from '../errors/hotcell-error.ts';
import { type Consent, QuestionFirst } from './consent.ts';
import type { McpDeps } from './deps.ts';
import { type ListedSchema, listedSchema } from './listed-schema.ts';
import { checkedArguments } from './present/arguments.ts';
import { errorResult } from './present/error-result.ts';
import { RESULT_META } from './present/result-meta.ts';
import { watchUnnamed } from './unnamed-session.ts';

/** The context of a call, for its handler. */
export interface ToolCall {
  readonly deps: McpDeps;
  /**
   * Aborted when the client cancels the call. Over HTTP it is also aborted after every answered call, so a listener
   * must be removed when the work is done.
   */
  readonly signal: AbortSignal;
  /** When the call arrived, by `performance.now()`. */
  readonly startedAt: number;
  /** How long the client waits for an answer: client-patience.ts. */
  readonly patienceMs: number;
  /** Whether the client asked for structured content. */
  readonly wantsStructured: boolean;
  /** The consent of the person at the client, for what the operator did not allow. */
  readonly consent: Consent;
  /** Sets the callback for progress messages, which a client gets every few seconds while the call runs. */
  reportWith(latest: () => string): void;
  /**
   * Waits for a turn of the owner before work on so many bytes. SECURITY: a handler calls it after it has waited for
   * something and before it works on data whose size a caller chooses; a thousand calls that wait for the same
   * execution would otherwise all make their replies in one turn of the event loop.
   */
  turn(bytes: number): Promise<void>;
  /**
   * Waits for a place of the owner before the call reads a whole file of a sandbox; it is kept until the reply is made.
   * SECURITY: a thousand calls would otherwise hold a thousand files in the server's memory before the first answer
   * counts. Idempotent: a call has one place, for one file after the other.
   */
  placeForFile(): Promise<void>;
}

/** The context of a call without what `answer` itself adds. */
export type GivenCall = Omit<ToolCall, 'placeForFile'>;

/** The reply of a handler: data for programs, content for a model. Each is complete without the other. */
export interface ToolReply<Structured> {
  readonly structured: Structured;
  readonly content: readonly ContentBlock[];
}

/**
 * A tool as one value: everything about it derives from this (the list, the checks, docs/tools.md). Schemas stand at
 * module scope: a server is made per HTTP request.
 */
export interface ToolDefinition<Input extends z.ZodObject, Output extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** Description for a model that has never seen Hotcell. Clients cut it at 2 KB. */
  readonly description: string;
  readonly input: Input;
  readonly output: Output;
  readonly annotations: ToolAnnotations;
  /**
   * Whether a call may run for minutes. Over HTTP the response then starts at once, so that clients do not time out.
   */
  readonly isLong?: boolean;
  /** Whether the tool reads files of the host. It is then listed only if that was allowed. */
  readonly needsHostFiles?: boolean;
  /** Whether the tool is listed only where sessions may have a network, or the person may be asked for one. */
  readonly needsNetwork?: boolean;
  /** Whether the tool installs packages. It is listed only for an owner who may. */
  readonly needsInstalling?: boolean;
  /**
   * Whether its contract is structured: its replies then always have structured content, as those of the system whose
   * tool it stands for.
   */
  readonly isStructured?: boolean;
  /** The data of a reply without the texts that its content has, for `_meta`. All of the data by default. */
  facts?(structured: z.output<Output>): object;
  /** Formats a failure, for a profile whose errors have another form. */
  failed?(thrown: unknown, args: unknown): CallToolResult;
  /** Throws a HotcellError if Hotcell fails; the outcome of the user's program is part of the reply. */
  handler(args: z.output<Input>, call: ToolCall): Promise<ToolReply<z.output<Output>>>;
}

/** A tool with its type parameters erased. */
export interface Tool extends Omit<ToolDefinition<z.ZodObject, z.ZodObject>, 'handler' | 'facts'> {
  readonly listed: { readonly input: ListedSchema; readonly output: ListedSchema };
  /** Validates the arguments, runs the handler, and turns an error, or a question, into a result. Never rejects. */
  answer(args: unknown, call: GivenCall): Promise<CallToolResult | InputRequiredResult>;
}

export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  definition: ToolDefinition<Input, Output>,
): Tool {
  const { handler, facts = (structured) => structured, ...rest } = definition;

  /** Where the data of a reply goes: docs/adr/0011. */
  function dataOf(structured: z.output<Output>, { wantsStructured }: GivenCall): Partial<CallToolResult> {
    if (definition.isStructured) return { structuredContent: structured };
    return {
      ...(wantsStructured ? { structuredContent: structured } : {}),
      _meta: { [RESULT_META]: facts(structured) },
    };
  }

  return {
    ...rest,
    listed: { input: listedSchema(rest.input), output: listedSchema(rest.output) },
    async answer(args, call) {
      const unnamed = watchUnnamed(call.deps);
      const file = filePlace(call);
      try {
        const given = { ...call, deps: unnamed.deps, placeForFile: file.take };
        const { structured, content } = await handler(checkedArguments(definition.input, args), given);
        if (call.signal.aborted) await unnamed.abandon();
        return { content: withNote(content, unnamed.note()), ...dataOf(structured, call) };
      } catch (thrown) {
        await unnamed.abandon();
        if (thrown instanceof QuestionFirst) return thrown.result;
        const error = toHotcellError(thrown);
        if (error.code === 'internal') {
          // Failures after the client has left are expected.
          call.deps.log[call.signal.aborted ? 'debug' : 'error']('a tool failed', {
            tool: rest.name,
            reason: String((error.cause as Error)?.stack ?? error),
          });
        }
        return definition.failed?.(error, args) ?? errorResult(error);
      } finally {
        file.release();
      }
    },
  };
}

/** The place of a call that reads whole files. */
function filePlace({ deps: { editing, owner }, signal }: GivenCall): { take(): Promise<void>; release(): void } {
  let taken: Promise<() => void> | undefined;
  return {
    take: async () => {
      taken ??= editing.take(owner.id, { signal });
      await taken;
    },
    release: () => {
      taken?.then((release) => release()).catch(() => {});
    },
  };
}

/** Appends the note to the first block, which is Hotcell's own. */
function withNote([first, ...others]: readonly ContentBlock[], note: string | undefined): ContentBlock[] {
  if (first?.type !== 'text' || note === undefined) return first === undefined ? [] : [first, ...others];
  return [{ ...first, text: `${first.text}\n${note}` }, ...others];
}
