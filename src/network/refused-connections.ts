import * as z from 'zod';
import { quotedName } from '../lib/said-inside.ts';
import type { Refusal } from './contract.ts';
import { hostAndPort } from './host-name.ts';
import { DEFAULT_PORTS } from './rules.ts';
import { settingList } from './session-rules.ts';

/** Connections that were refused while an execution ran, each once. */
export interface RefusedConnections {
  readonly refused: readonly Refusal[];
  /** Number of further ones. */
  readonly more?: number | undefined;
}

/** The same as it arrives from a server. SECURITY: the server may be hostile, so everything has limits. */
export const refusedConnections = z.object({
  refused: z
    .array(
      z.object({
        host: z.string().max(300),
        port: z.number().int(),
        why: z.string().max(40),
        saw: z.string().max(300).optional(),
      }),
    )
    .max(100),
  more: z.number().int().min(0).optional(),
});

/** Refusals that a sentence names. Further ones are counted. */
const MOST_NAMED = 8;

/** Refused connections in one sentence. SECURITY: programs choose the names of hosts, so those that are not plain are quoted. */
export function refusedSentence({
  refused,
  more = 0,
}: z.infer<typeof refusedConnections> | RefusedConnections): string {
  const named = refused.slice(0, MOST_NAMED).map(({ host, port, why }) => `${shownTarget(host, port)} (${why})`);
  const others = refused.length - named.length + more;
  const rest = others === 0 ? '' : ` and ${others} more`;
  return `The network policy refused ${named.join(', ')}${rest}.`;
}

/** The rules that would allow what no rule allowed. Empty if the setting cannot help. */
export function missingRules({ refused }: z.infer<typeof refusedConnections> | RefusedConnections): string[] {
  const missing = refused.filter(({ why }) => why === 'not-allowed').slice(0, MOST_NAMED);
  return [
    ...new Set(missing.map(({ host, port }) => (DEFAULT_PORTS.includes(port) ? host : hostAndPort({ host, port })))),
  ];
}

/** A setting with more rules. */
export function settingWith(setting: Parameters<typeof settingList>[0], rules: readonly string[]): string[] {
  return [...settingList(setting).filter((entry) => entry !== 'none'), ...rules];
}

function shownTarget(host: string, port: number): string {
  return host === '' ? 'a connection' : `${quotedName(host)}:${port}`;
}
