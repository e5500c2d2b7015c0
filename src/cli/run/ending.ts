import type { z } from 'zod';
import type { ExecutionResult } from '../../execution/result.ts';
import { tracebackText } from '../../execution/traceback-parts.ts';
import { saidByServer } from '../../lib/said-inside.ts';
import { durationText } from '../../lib/units.ts';
import {
  missingRules,
  type RefusedConnections,
  type refusedConnections,
  refusedSentence,
} from '../../network/refused-connections.ts';
import type { Outcome } from '../../sandbox/outcome.ts';
import { outcomeSentence } from '../../sandbox/outcome-table.ts';
import { shownText } from '../terminal-filter.ts';

/** Text about the end of a program, beyond its own output. Undefined if it ended normally. */
export function endingText(outcome: Outcome): string | undefined {
  if (outcome.kind === 'exited') return undefined;
  if (outcome.kind === 'raised') return shownText([tracebackText(outcome), ...hintLines(outcome.hint)].join('\n'));
  const sentence = outcomeSentence(outcome);
  return sentence === undefined
    ? undefined
    : `hotcell: ${[inLine(sentence), ADVICE[outcome.kind]].filter(Boolean).join('. ')}.`;
}

/** Text about connections that were refused, with the flag that allows them. */
export function refusedText(network: z.infer<typeof refusedConnections> | RefusedConnections): string {
  const rules = missingRules(network);
  const advice = rules.length === 0 ? '' : ` Allow it: ${rules.map((rule) => `--network ${rule}`).join(' ')}.`;
  return `hotcell: ${shownText(inLine(`${refusedSentence(network)}${advice}`))}`;
}

/** SECURITY: quotes the sentences of a server, which would otherwise read as Hotcell's. */
export function quotedOutcome(outcome: Outcome): Outcome {
  if (outcome.kind === 'unavailable') return { ...outcome, hint: saidByServer(outcome.hint) };
  if (outcome.kind === 'sandbox-lost') return { ...outcome, reason: saidByServer(outcome.reason) };
  return outcome;
}

const ADVICE: Partial<Record<Outcome['kind'], string>> = {
  'timed-out': 'Set a longer --timeout',
  'out-of-memory': 'Set a larger --memory',
  'sandbox-lost': 'Run it again',
};

/**
 * Text of a server or a sandbox as part of a line. SECURITY: a line end in it would start another line that looks like
 * Hotcell's.
 */
function inLine(text: string): string {
  return text.slice(0, 2_000).replaceAll(/\s+/g, ' ');
}

/** The line with a hint, if there is one. */
export function hintLines(hint: string | undefined): string[] {
  return hint === undefined ? [] : [`→ ${hint}`];
}

/** One status line: the isolation, why it is not stronger, and the duration. */
export function statusText({ isolation, durationMs }: Pick<ExecutionResult, 'isolation' | 'durationMs'>): string {
  const passedOver = isolation.passedOver.map(({ driver }) => driver);
  const weaker = passedOver.length === 0 ? '' : `; not available: ${passedOver.join(', ')}, see hotcell doctor`;
  return `${isolation.driver} (level ${isolation.level}${weaker}) · ${durationText(durationMs)}`;
}
