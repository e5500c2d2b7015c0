import { inOneLine, quotedName } from '../../lib/said-inside.ts';
import type { ExecutionOutput } from './execution-output.ts';

/**
 * An execution as text blocks. The first is Hotcell's: outcome, notes, and files. The others are the program's, each
 * with a label; `pieces` are its output, images included, in their order, and `error` is its traceback with the message.
 * SECURITY: a program can print lines that look like Hotcell's. So Hotcell's text is always in the first block, and the
 * program's never is.
 */
export function executionTexts<Piece = string>(
  output: ExecutionOutput,
  pieces: readonly (Piece | string)[] = streamTexts(output),
  error = output.error?.traceback,
): [ours: string, ...theirs: (Piece | string)[]] {
  const { value } = output;
  const printed = [
    ...pieces,
    ...(value === undefined ? [] : [`value:${value.includes('\n') ? '\n' : ' '}${value}`]),
    ...(error === undefined ? [] : [`error:\n${error}`, ...hintTexts(output.error?.hint)]),
  ];
  const ours = [
    ...endLines(output, printed.length === 0),
    ...output.notes,
    ...madeLines(output),
    ...omittedLines(output),
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
  const figures = images === 0 ? '' : images === 1 ? ' 1 figure follows.' : ` ${images} figures follow.`;
  if (outcome === 'raised') return [`The code raised an error.${figures}`];
  if (outcome !== 'ok') return figures === '' ? [] : [figures.trimStart()];
  return [isSilent && images === 0 ? 'Done, no output.' : `Done.${figures}`];
}

function hintTexts(hint: string | undefined): string[] {
  return hint === undefined ? [] : [`hint from inside the sandbox: ${inOneLine(hint)}`];
}

function madeLines({ files, files_omitted }: ExecutionOutput): string[] {
  if (files.length === 0) return files_omitted === -1 ? ['files: too many to compare; call list_files'] : [];
  const lines = files.map(
    ({ path, change, size_bytes }) => `  ${quotedName(path)} (${change}, ${size_bytes.toLocaleString('en-US')} bytes)`,
  );
  return [['files:', ...lines, ...(files_omitted > 0 ? [`  and ${files_omitted} more`] : [])].join('\n')];
}

function omittedLines({ execution_id, omitted }: ExecutionOutput): string[] {
  if (omitted === undefined) return [];
  const { stdout_chars, stderr_chars, message_offset } = omitted;
  const read = (offset: number) =>
    `To read all of it: get_execution {"execution_id": "${execution_id}", "log_offset": ${offset}}.`;
  return [
    ...(stdout_chars + stderr_chars === 0 ? [] : [`The output was cut. ${read(0)}`]),
    ...(message_offset === undefined ? [] : [`The message of the exception was cut. ${read(message_offset)}`]),
  ];
}
