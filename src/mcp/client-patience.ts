/** How long a client waits for the answer to a call, and how that is known. docs/tools.md shows this table. */
export interface PatientClient {
  /** Beginning of the name that the client gives itself (`clientInfo.name`). */
  readonly name: string;
  readonly product: string;
  readonly waitMs: number;
  /** Whether it waits only as long as progress arrives, so that a call has to ask for progress. */
  readonly needsProgress: boolean;
  readonly reason: string;
}

/** Clients that wait longer than most. The TypeScript SDK gives up after 60 seconds, with progress or without. */
export const PATIENT_CLIENTS: readonly PatientClient[] = [
  {
    name: 'claude-code',
    product: 'Claude Code',
    waitMs: 300_000,
    needsProgress: true,
    reason: 'gives up after five minutes without progress',
  },
  {
    name: 'codex-mcp-client',
    product: 'Codex',
    waitMs: 100_000,
    needsProgress: true,
    reason: 'has a `tool_timeout_sec` of 120 or more by default (older versions: 60)',
  },
  {
    name: 'gemini-cli-mcp-client',
    product: 'Gemini CLI',
    waitMs: 300_000,
    needsProgress: false,
    reason: 'has a `timeout` of ten minutes by default',
  },
];

/** How long other clients are known to wait, with a margin: the default of the TypeScript SDK is 60 seconds. */
export const USUAL_WAIT_MS = 45_000;

/** How long a call may take before it is answered with what there is. `configuredMs` holds for every client. */
export function patienceOf(
  { name, hasProgress }: { readonly name: string | undefined; readonly hasProgress: boolean },
  configuredMs: number | undefined,
): number {
  if (configuredMs !== undefined) return configuredMs;
  const known = PATIENT_CLIENTS.find((client) => name?.startsWith(client.name));
  return known === undefined || (known.needsProgress && !hasProgress) ? USUAL_WAIT_MS : known.waitMs;
}
