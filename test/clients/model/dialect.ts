/** One thing that a model is handed back for a tool call, as the client put it into its request. */
export interface ToolResult {
  /** All text of the result, as the model reads it. */
  readonly text: string;
  readonly pictures: number;
}

export interface ToolCall {
  readonly tool: string;
  readonly arguments: Record<string, unknown>;
}

/**
 * The model API that a client speaks. The server of the scripted model asks it what a request contains, and lets it write the answer.
 * A body is untyped JSON of another program: a dialect reads only what it needs, and throws where that is missing.
 */
export interface Dialect {
  /** Whether a request to that path asks the model for its next message. */
  readonly isTurn: (path: string) => boolean;
  /** Names of the tools that the client offers, as the model has to call them. */
  readonly toolsIn: (body: Json) => OfferedTool[];
  /** Every tool result of the conversation so far, oldest first. */
  readonly resultsIn: (body: Json) => ToolResult[];
  /** The answer: a tool call, or the last words if there is none. `turn` counts the results before it. */
  readonly answer: (turn: number, call: CallOfOffered | undefined) => Answer;
}

export interface OfferedTool {
  readonly name: string;
  /** A group of tools, where the API has such groups. */
  readonly namespace?: string;
}

export interface CallOfOffered {
  readonly tool: OfferedTool;
  readonly arguments: Record<string, unknown>;
}

/** Server-sent events. `event` is the name in front of the data, where the API wants one. */
export interface Answer {
  readonly events: readonly { readonly event?: string; readonly data: Json }[];
}

// biome-ignore lint/suspicious/noExplicitAny: requests of foreign programs, read field by field
export type Json = any;
