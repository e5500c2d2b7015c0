import { inOneLine } from '../../lib/said-inside.ts';
import type { ExecutionOutput } from './execution-output.ts';

/**
 * An execution as text, in two parts: first what is the program's (printed, shown, the value, what was raised), then what is ours (which files were made, and
 * what to know). SECURITY: each is a block of its own in the reply, because a program can print lines that look like ours.
 */
export function executionTexts(output: ExecutionOutput): string[] {
  const printed = [
    output.stdout.trimEnd(),
    ...(output.stderr.trim() === '' ? [] : [`stderr:\n${output.stderr.trimEnd()}`]),
    ...output.shown.map((text) => text.trimEnd()),
    ...(output.value === undefined ? [] : [`value: ${output.value}`]),
    ...(output.error === undefined ? [] : [output.error.traceback, ...hintLines(output.error.hint)]),
  ];
  const ours = [
    ...madeLines(output),
    ...(output.omitted === undefined ? [] : [omittedLine(output.omitted)]),
    ...output.notes,
  ];
  const texts = [printed, ours].map((parts) => parts.filter((part) => part !== '').join('\n'));
  const said = texts.filter((text) => text !== '');
  return said.length === 0 ? ['(ended well, nothing printed)'] : said;
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
