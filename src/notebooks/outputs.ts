import { type Display, type ExecutionResult, inOrder } from '../execution/result.ts';
import { refusedSentence } from '../network/refused-connections.ts';
import type { Outcome } from '../sandbox/outcome.ts';
import { outcomeException, outcomeSentence } from '../sandbox/outcome-table.ts';
import type { ToMimeBundle } from './mime-bundle.ts';
import { linesOf, type NotebookOutput } from './nbformat.ts';

/** The parts of a result that a notebook shows. */
export type Shown = Pick<
  ExecutionResult,
  'outcome' | 'stdout' | 'stderr' | 'displays' | 'order' | 'value' | 'truncation' | 'network'
>;

/**
 * Converts a result to the outputs of a cell: texts and displays in their order, the value, and the error. `toBundle` is
 * the one of the notebook (`createMimeBundles`).
 */
export function outputsOf(shown: Shown, executionCount: number, toBundle: ToMimeBundle): NotebookOutput[] {
  const { displays, value, outcome } = shown;
  const error = errorOf(outcome);
  return [
    ...inOrder(shown).flatMap((part) =>
      part.kind === 'display' ? displayData(displays[part.index], toBundle) : stream(part.kind, part.text),
    ),
    ...noteOf(shown.truncation?.displaysDropped ?? 0),
    ...(shown.network === undefined ? [] : stream('stderr', `hotcell: ${refusedSentence(shown.network)}\n`)),
    ...(value === undefined
      ? []
      : [
          {
            output_type: 'execute_result' as const,
            execution_count: executionCount,
            data: { 'text/plain': value.text, ...toBundle(value.representations) },
            metadata: {},
          },
        ]),
    ...(error === undefined ? [] : [{ output_type: 'error' as const, ...error }]),
  ];
}

function displayData(display: Display | undefined, toBundle: ToMimeBundle): NotebookOutput[] {
  const data = toBundle(display?.representations ?? []);
  return Object.keys(data).length === 0 ? [] : [{ output_type: 'display_data', data, metadata: {} }];
}

export function stream(name: 'stdout' | 'stderr', text: string): NotebookOutput[] {
  return text === '' ? [] : [{ output_type: 'stream', name, text: linesOf(text) }];
}

function noteOf(displaysDropped: number): NotebookOutput[] {
  if (displaysDropped === 0) return [];
  return stream('stderr', `hotcell: ${displaysDropped} displays were left out, because they were too large\n`);
}

/** A failed outcome as an exception of a notebook; undefined if it did not fail. */
function errorOf(outcome: Outcome): { ename: string; evalue: string; traceback: readonly string[] } | undefined {
  if (outcome.kind === 'raised') {
    const { name, message, traceback, hint } = outcome;
    return { ename: name, evalue: message, traceback: [...traceback, ...(hint === undefined ? [] : [`→ ${hint}`])] };
  }
  const ename = outcomeException(outcome);
  if (ename === undefined || (outcome.kind === 'exited' && outcome.exitCode === 0)) return undefined;
  const evalue = outcome.kind === 'exited' ? String(outcome.exitCode) : (outcomeSentence(outcome) ?? '');
  return { ename, evalue, traceback: [`${ename}: ${evalue}`] };
}
