import { inOneLine, quotedName } from '../../lib/said-inside.ts';
import type { ExecutionOutput } from './execution-output.ts';

/**
 * An execution as text blocks. The first is Hotcell's: outcome, notes, and files. The others are the program's, each
 * with a label; `pieces` are its output, images included, in their order. SECURITY: a program can print lines that look like Hotcell's. So Hotcell's text is always in the first
 * block, and the program's never is.
 */
export function executionTexts<Piece = string>(
  output: ExecutionOutput,
  pieces: readonly (Piece | string)[] = streamTexts(output),
): [ours: string, ...theirs: (Piece | string)[]] {
  const { value, error } = output;
  const printed = [
    ...pieces,
    ...(value === undefined ? [] : [`value:${value.includes('\n') ? '\n' : ' '}${value}`]),
    ...(error === undefined ? [] : [`error:\n${error.traceback}`, ...hintTexts(error.hint)]),
  ];
  const ours = [
    ...endLines(output, printed.length === 0),
    ...output.notes,
    ...madeLines(output),
    ...(output.omitted === undefined ? [] : [omittedLine(output.omitted)]),
  ];
  return [ours.join('\n'), ...printed];
}

/** The output stream by stream, where its order is not known. */
function streamTexts({ stdout, stderr, shown }: ExecutionOutput): string[] {
  return [
    ...labelled('output', stdout),
    ...labelled('stderr', stderr),
    ...labelled('shown', shown.map((text) => text.trimEnd()).join('\n')),
  ];
}

function labelled(label: string, text: string): string[] {
  return text.trim() === '' ? [] : [`${label}:\n${text.trimEnd()}`];
}

/** The first line of the reply. Other outcomes have a note instead. */
function endLines({ outcome, images }: ExecutionOutput, isSilent: boolean): string[] {
  if (outcome === 'raised') return ['The code raised an error.'];
  if (outcome !== 'ok') return [];
  if (images > 0) return [images === 1 ? 'Done. 1 image follows.' : `Done. ${images} images follow.`];
  return [isSilent ? 'Done, no output.' : 'Done.'];
}

function hintTexts(hint: string | undefined): string[] {
  return hint === undefined ? [] : [`hint from inside the sandbox: ${inOneLine(hint)}`];
}

function madeLines({ files, files_omitted }: ExecutionOutput): string[] {
  if (files.length === 0) return files_omitted === -1 ? ['files: too many to compare; call list_files'] : [];
  const lines = files.map(
    ({ path, change, size_bytes, url }) =>
      `  ${quotedName(path)} (${change}, ${size_bytes.toLocaleString('en-US')} bytes)${url === undefined ? '' : ` ${url}`}`,
  );
  return [['files:', ...lines, ...(files_omitted > 0 ? [`  and ${files_omitted} more`] : [])].join('\n')];
}

function omittedLine({ log_uri }: NonNullable<ExecutionOutput['omitted']>): string {
  return `The output was truncated. Read all of it with get_execution and log_offset, or from the resource ${log_uri}`;
}
