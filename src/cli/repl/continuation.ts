import { openConstructs } from './open-constructs.ts';

/** The effect of Enter at the end of the text: run it, or continue on a new line with this indentation. */
export type Continuation = { readonly kind: 'run' } | { readonly kind: 'more'; readonly indent: string };

const RUN: Continuation = { kind: 'run' };
const PYTHON_BLOCK = /^\s*(?:async\s+)?(?:if|for|while|def|class|with|try|match)\b|^\s*@|^\s*%%/;
const PYTHON_LEAVES_BLOCK = /^\s*(?:return|pass|break|continue|raise)\b/;
const BASH_GOES_ON = /(?:\||&&|\\)\s*$/;

/**
 * Decided here and not by the kernel: Enter must answer at once, even if a hostile kernel does not. If the decision is
 * wrong, an empty line runs the text, except inside an open bracket or string.
 */
export function continuationOf(text: string, language: string): Continuation {
  const lines = text.split('\n');
  const last = lines.at(-1) ?? '';
  const open = openConstructs(text, language);
  if (open.isInString) return { kind: 'more', indent: '' };
  if (open.brackets > 0 || open.isContinuedLine) return more(last, /[([{]\s*$/.test(last));
  if (language === 'python') return pythonContinuation(lines, last, open.code);
  if (language === 'bash') return bashContinuation(lines, last, open.code);
  return RUN;
}

/** Code without trailing empty lines and without common indentation, as copied code has it. */
export function submitted(text: string): string {
  const code = text.trimEnd().replace(/^(?:[ \t]*\n)+/, '');
  const indent = indentOf(code);
  if (indent === '') return code;
  const lines = code.split('\n');
  if (!lines.every((line) => line.startsWith(indent) || line.trim() === '')) return code;
  return lines.map((line) => line.slice(indent.length)).join('\n');
}

/** In Python a block ends with an empty line, as in IPython and in Python's own prompt. */
function pythonContinuation(lines: readonly string[], last: string, code: string): Continuation {
  const codeLines = code.split('\n');
  const isBlock = codeLines.some((line) => PYTHON_BLOCK.test(line) || /:\s*$/.test(line));
  if (!isBlock) return RUN;
  const isDecorated = /^\s*@/.test(codeLines.findLast((line) => line.trim() !== '') ?? '');
  if (last.trim() === '' && lines.length > 1 && !isDecorated) return RUN;
  if (PYTHON_LEAVES_BLOCK.test(last)) return { kind: 'more', indent: indentOf(last).slice(4) };
  return more(last, /:\s*$/.test(codeLines.at(-1) ?? ''));
}

function bashContinuation(lines: readonly string[], last: string, code: string): Continuation {
  if (last.trim() === '' && lines.length > 1) return RUN;
  const count = (words: RegExp) => code.match(words)?.length ?? 0;
  const opened = count(/(?<=^|[\n;&|({]|\bthen\b|\bdo\b|\belse\b)[^\S\n]*(?:if|for|while|until|case|select)\b/g);
  const closed = count(/(?<=^|[\n;])[^\S\n]*(?:fi|done|esac)\b/g);
  if (opened > closed || BASH_GOES_ON.test(code) || isInHeredoc(lines))
    return more(last, /\b(?:then|do|else)\s*$/.test(last));
  return RUN;
}

function isInHeredoc(lines: readonly string[]): boolean {
  const word = lines.join('\n').match(/<<-?\s*(['"]?)(\w+)\1/)?.[2];
  return word !== undefined && !lines.some((line) => line.trim() === word);
}

function more(last: string, deeper: boolean): Continuation {
  return { kind: 'more', indent: indentOf(last) + (deeper ? '    ' : '') };
}

function indentOf(line: string): string {
  return line.match(/^[ \t]*/)?.[0] ?? '';
}
