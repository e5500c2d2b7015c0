import { inOneLine } from '../../lib/said-inside.ts';
import type { ExecutionOutput } from './execution-output.ts';

/** An execution as text: what was printed, what was shown, the value, what was raised, what was made, and what to know. */
export function executionText(output: ExecutionOutput): string {
  const parts = [
    output.stdout.trimEnd(),
    ...(output.stderr.trim() === '' ? [] : [`stderr:\n${output.stderr.trimEnd()}`]),
    ...output.shown.map((text) => text.trimEnd()),
    ...(output.value === undefined ? [] : [`value: ${output.value}`]),
    ...(output.error === undefined ? [] : [output.error.traceback, ...hintLines(output.error.hint)]),
    ...madeLines(output),
    ...(output.omitted === undefined ? [] : [omittedLine(output.omitted)]),
    ...output.notes,
  ].filter((part) => part !== '');
  return parts.length === 0 ? '(ended well, nothing printed)' : parts.join('\n');
}

function hintLines(hint: string | undefined): string[] {
  return hint === undefined ? [] : [`hint from inside the sandbox: ${inOneLine(hint)}`];
}

function madeLines({ files, files_omitted }: ExecutionOutput): string[] {
  if (files.length === 0) return files_omitted === -1 ? ['files: too many to compare; see list_files'] : [];
  const lines = files.map(
    ({ path, change, size_bytes, url }) =>
      `  ${inOneLine(path)} (${change}, ${size_bytes.toLocaleString('en-US')} bytes)${url === undefined ? '' : ` ${url}`}`,
  );
  return [['files:', ...lines, ...(files_omitted > 0 ? [`  and ${files_omitted} more`] : [])].join('\n')];
}

function omittedLine({ log_uri }: NonNullable<ExecutionOutput['omitted']>): string {
  return `Not all of the output is here. The rest: get_execution with log_offset, or the resource ${log_uri}`;
}
