import type { ExecutionResult } from '../execution/result.ts';
import type { Outcome } from '../sandbox/outcome.ts';
import { mimeBundle } from './mime-bundle.ts';
import { linesOf, type NotebookOutput } from './nbformat.ts';

/** What of a result a notebook shows. */
export type Shown = Pick<ExecutionResult, 'outcome' | 'stdout' | 'stderr' | 'displays' | 'value' | 'truncation'>;

/** A result as the outputs of a cell: what it printed, what it showed, its value, how it failed. */
export function outputsOf(shown: Shown, executionCount: number): NotebookOutput[] {
  const { stdout, stderr, displays, value, outcome } = shown;
  const error = errorOf(outcome);
  return [
    ...stream('stdout', stdout),
    ...stream('stderr', stderr),
    ...displays
      .map(({ representations }) => mimeBundle(representations))
      .filter((data) => Object.keys(data).length > 0)
      .map((data): NotebookOutput => ({ output_type: 'display_data', data, metadata: {} })),
    ...noteOf(shown.truncation?.displaysDropped ?? 0),
    ...(value === undefined
      ? []
      : [
          {
            output_type: 'execute_result' as const,
            execution_count: executionCount,
            data: { 'text/plain': value.text, ...mimeBundle(value.representations) },
            metadata: {},
          },
        ]),
    ...(error === undefined ? [] : [{ output_type: 'error' as const, ...error }]),
  ];
}

export function stream(name: 'stdout' | 'stderr', text: string): NotebookOutput[] {
  return text === '' ? [] : [{ output_type: 'stream', name, text: linesOf(text) }];
}

function noteOf(displaysDropped: number): NotebookOutput[] {
  if (displaysDropped === 0) return [];
  return stream('stderr', `hotcell: ${displaysDropped} displays were too large and are left out\n`);
}

/** How an execution failed, in the words of a notebook. Nothing where it did not. */
function errorOf(outcome: Outcome): { ename: string; evalue: string; traceback: readonly string[] } | undefined {
  const ended = (ename: string, evalue: string) => ({ ename, evalue, traceback: [`${ename}: ${evalue}`] });
  switch (outcome.kind) {
    case 'ok':
      return undefined;
    case 'raised':
      return {
        ename: outcome.name,
        evalue: outcome.message,
        traceback: [...outcome.traceback, ...(outcome.hint === undefined ? [] : [`→ ${outcome.hint}`])],
      };
    case 'exited':
      return outcome.exitCode === 0 ? undefined : ended('SystemExit', String(outcome.exitCode));
    case 'interrupted':
      return ended('KeyboardInterrupt', 'interrupted');
    case 'timed-out':
      return ended('TimedOut', `ended after ${outcome.limitMs} ms`);
    case 'out-of-memory':
      return ended('OutOfMemory', `ended at the limit of ${outcome.limitBytes} bytes`);
    case 'unavailable':
      return ended('Unavailable', `not in this sandbox: ${outcome.missing.join(', ')}. ${outcome.hint}`);
    case 'sandbox-lost':
      return ended('SandboxLost', outcome.reason);
    case 'kernel-died':
      return ended('KernelDied', outcome.signal ?? 'the interpreter ended');
  }
}
