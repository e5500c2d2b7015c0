import type { ExecutionResult } from '../../execution/result.ts';
import type { Outcome } from '../../sandbox/outcome.ts';
import { durationText, sizeText } from '../print.ts';
import { shownText } from '../terminal-filter.ts';

/** What a person must hear of how a program ended, beyond what it printed. Nothing where it ended as it meant to. */
export function endingText(outcome: Outcome): string | undefined {
  switch (outcome.kind) {
    case 'ok':
    case 'exited':
      return undefined;
    case 'raised':
      return shownText([...outcome.traceback, ...hintLines(outcome.hint)].join('\n'));
    case 'timed-out':
      return `hotcell: timed out after ${durationText(outcome.limitMs)}. Give it longer with --timeout.`;
    case 'out-of-memory':
      return `hotcell: out of memory, at the limit of ${sizeText(outcome.limitBytes)}. Give it more with --memory.`;
    case 'unavailable':
      return `hotcell: not in this sandbox: ${inLine(outcome.missing.join(', '))}. ${inLine(outcome.hint)}`;
    case 'interrupted':
      return 'hotcell: interrupted.';
    case 'sandbox-lost':
      return `hotcell: the sandbox was lost (${inLine(outcome.reason)}). Run it again.`;
    case 'kernel-died':
      return `hotcell: the program died${outcome.signal === undefined ? '' : ` of ${inLine(outcome.signal)}`}.`;
  }
}

/** Words of a server or a sandbox as part of a line of ours. SECURITY: a line end in them would begin another that looks like ours. */
export function inLine(text: string): string {
  return text.slice(0, 1_000).replaceAll(/\s+/g, ' ');
}

/** What helps, where something surely does. */
export function hintLines(hint: string | undefined): string[] {
  return hint === undefined ? [] : [`→ ${hint}`];
}

/** One line for a terminal: where it ran, why not somewhere stronger, and how long it took. */
export function statusText({ isolation, durationMs }: Pick<ExecutionResult, 'isolation' | 'durationMs'>): string {
  const passedOver = isolation.passedOver.map(({ driver }) => driver);
  const weaker = passedOver.length === 0 ? '' : `; not available: ${passedOver.join(', ')}, see hotcell doctor`;
  return `${isolation.driver} (level ${isolation.level}${weaker}) · ${durationText(durationMs)}`;
}
