import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { ServerCommand } from './command-line-clients.ts';
import type { ToolCall, ToolResult } from './model/dialect.ts';

/** A client library, which a program in `programs/` uses as its users would. */
export interface LibraryClient {
  readonly name: string;
  readonly program: string;
  /** The installed interpreter that runs the program. */
  readonly runtime: 'node' | 'python' | 'frameworks';
  /** False where a caller that gives up does not tell the server: what runs goes on to its time limit. */
  readonly tellsOfCancel: boolean;
}

export const LIBRARY_CLIENTS: readonly LibraryClient[] = [
  { name: 'TypeScript SDK v1', program: 'sdk-v1.mjs', runtime: 'node', tellsOfCancel: true },
  { name: 'AI SDK', program: 'ai-sdk.mjs', runtime: 'node', tellsOfCancel: false },
  { name: 'Python mcp', program: 'python_mcp.py', runtime: 'python', tellsOfCancel: true },
  { name: 'fastmcp', program: 'fastmcp_client.py', runtime: 'python', tellsOfCancel: true },
  { name: 'langchain-mcp-adapters', program: 'langchain_client.py', runtime: 'frameworks', tellsOfCancel: false },
  { name: 'openai-agents', program: 'openai_agents.py', runtime: 'frameworks', tellsOfCancel: false },
];

export interface ConnectedLibrary {
  /** Makes one call. With `cancelAfterMs` the library cancels it then, and the text of the result is `cancelled`. */
  readonly call: (call: ToolCall, options?: { readonly cancelAfterMs?: number }) => Promise<ToolResult>;
  readonly close: () => Promise<void>;
}

/** Starts the program of a library. `command` is its interpreter; the folder of the installed clients is its last argument. */
export function connectLibrary(
  { program }: LibraryClient,
  command: string,
  server: ServerCommand,
  folder: string,
): ConnectedLibrary {
  const path = new URL(`programs/${program}`, import.meta.url).pathname;
  const child = spawn(command, [path, JSON.stringify(server), `${folder}/`], { stdio: ['pipe', 'pipe', 'pipe'] });
  const complaints: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text) => complaints.push(text));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    call: async (call, options = {}) => {
      child.stdin.write(`${JSON.stringify({ ...call, ...options })}\n`);
      const { value, done } = await answers.next();
      if (done === true) throw new Error(`${program} ended: ${complaints.join('').slice(-2_000)}`);
      return JSON.parse(value) as ToolResult;
    },
    close: () => {
      child.stdin.end();
      return ended;
    },
  };
}
