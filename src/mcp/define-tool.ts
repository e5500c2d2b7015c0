import type { CallToolResult, ContentBlock, ToolAnnotations } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { toHotcellError } from '../errors/hotcell-error.ts';
import type { McpDeps } from './deps.ts';
import { type ListedSchema, listedSchema } from './listed-schema.ts';
import { checkedArguments } from './present/arguments.ts';
import { errorResult } from './present/error-result.ts';
import { watchUnnamed } from './unnamed-session.ts';

/** What a handler may use of the call that it answers. */
export interface ToolCall {
  readonly deps: McpDeps;
  /** Fires when the client withdraws the call. Over HTTP it also fires after every answered call: whoever listens must stop when done. */
  readonly signal: AbortSignal;
  /** Names what a client that wants progress is told every few seconds while the call runs. */
  reportWith(latest: () => string): void;
}

/** What a handler answers: for programs, and for a model that reads. */
export interface ToolReply<Structured> {
  readonly structured: Structured;
  readonly content: readonly ContentBlock[];
}

/** A tool as one value: everything about it derives from this (the list, the checks, docs/tools.md). Schemas stand at module scope: a server is made per HTTP request. */
export interface ToolDefinition<Input extends z.ZodObject, Output extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** For a model that has never seen Hotcell. Clients cut it at 2 KB. */
  readonly description: string;
  readonly input: Input;
  readonly output: Output;
  readonly annotations: ToolAnnotations;
  /** May run for minutes: over HTTP its answer begins with the first byte, or clients give up. */
  readonly isLong?: boolean;
  /** Works on files of the server's host, and is there only where that was granted. */
  readonly needsHostFiles?: boolean;
  /** What a failure looks like, in a profile whose errors have another form than ours. */
  failed?(thrown: unknown, args: unknown): CallToolResult;
  /** Throws a HotcellError where Hotcell fails; how a user's program ended is part of the reply. */
  handler(args: z.output<Input>, call: ToolCall): Promise<ToolReply<z.output<Output>>>;
}

/** A tool whose types are its own affair. */
export interface Tool extends Omit<ToolDefinition<z.ZodObject, z.ZodObject>, 'handler'> {
  readonly listed: { readonly input: ListedSchema; readonly output: ListedSchema };
  /** Checks the arguments, runs the handler, and makes a result of whatever comes. Never rejects. */
  answer(args: unknown, call: ToolCall): Promise<CallToolResult>;
}

export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  definition: ToolDefinition<Input, Output>,
): Tool {
  const { handler, ...rest } = definition;
  return {
    ...rest,
    listed: { input: listedSchema(rest.input), output: listedSchema(rest.output) },
    async answer(args, call) {
      const unnamed = watchUnnamed(call.deps);
      try {
        const given = { ...call, deps: unnamed.deps };
        const { structured, content } = await handler(checkedArguments(definition.input, args), given);
        if (call.signal.aborted) await unnamed.abandon();
        return { content: withNote(content, unnamed.note()), structuredContent: structured };
      } catch (thrown) {
        await unnamed.abandon();
        const error = toHotcellError(thrown);
        if (error.code === 'internal') {
          // Whoever leaves makes much fail that has no fault.
          call.deps.log[call.signal.aborted ? 'debug' : 'error']('a tool failed', {
            tool: rest.name,
            reason: String((error.cause as Error)?.stack ?? error),
          });
        }
        return definition.failed?.(error, args) ?? errorResult(error);
      }
    },
  };
}

/** In the first block, which is ours. */
function withNote([first, ...others]: readonly ContentBlock[], note: string | undefined): ContentBlock[] {
  if (first?.type !== 'text' || note === undefined) return first === undefined ? [] : [first, ...others];
  return [{ ...first, text: `${first.text}\n${note}` }, ...others];
}
