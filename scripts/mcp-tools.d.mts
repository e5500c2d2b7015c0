/** Programs of the official checks, and the Node that runs them. */
export interface McpTools {
  readonly node: string;
  readonly conformance: string;
  readonly inspector: string;
}

export function ensureMcpTools(): Promise<McpTools>;
