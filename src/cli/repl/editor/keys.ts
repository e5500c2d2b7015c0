import { emitKeypressEvents, type Key } from 'node:readline';
import type { ReadStream } from 'node:tty';

/** An input event: a key press, or pasted text. */
export type Stroke = { readonly kind: 'key'; readonly text: string; readonly key: Key } | PastedText;
export interface PastedText {
  readonly kind: 'paste';
  readonly text: string;
}

const RETURN: Stroke = { kind: 'key', text: '\r', key: { name: 'return', ctrl: false, meta: false, shift: false } };

/**
 * Reads keys from a terminal in raw mode until it is disposed of. Node parses the bytes; this adds pasting, which is
 * detected by the terminal's bracketed-paste marks, or by several lines that arrive at once.
 */
export function listenForKeys(input: ReadStream, onStroke: (stroke: Stroke) => void, onEnd: () => void): Disposable {
  let pasted: string[] | undefined;
  let isMarked = false;

  const beforeKeys = (chunk: Buffer) => {
    if (pasted === undefined && /[\r\n][\t\x20-\x7e\x80-\xff]/.test(chunk.toString('latin1'))) pasted = [];
  };
  const onKey = (text: string | undefined, key: Key) => {
    if (key.name === 'paste-start') {
      pasted = [];
      isMarked = true;
    } else if (key.name === 'paste-end') {
      isMarked = false;
      flush();
    } else if (pasted !== undefined && (isMarked || isTyped(text, key))) {
      pasted.push(key.name === 'return' || key.name === 'enter' ? '\n' : (text ?? ''));
    } else {
      flush();
      onStroke({ kind: 'key', text: text ?? '', key });
    }
  };
  const afterKeys = () => {
    if (pasted === undefined || isMarked) return;
    const endsWithReturn = /[\r\n]$/.test(pasted.at(-1) ?? '');
    if (endsWithReturn) pasted.pop();
    flush();
    if (endsWithReturn) onStroke(RETURN);
  };
  const flush = () => {
    const text = pasted?.join('') ?? '';
    pasted = undefined;
    if (text !== '') onStroke({ kind: 'paste', text: cleanPaste(text) });
  };

  // The order matters: Node's own listener, between these two, emits all keys of a chunk at once.
  input.on('data', beforeKeys);
  emitKeypressEvents(input);
  input.on('keypress', onKey);
  input.on('data', afterKeys);
  input.on('end', onEnd);
  input.setRawMode(true);
  input.resume();
  return {
    [Symbol.dispose]: () => {
      input.off('data', beforeKeys).off('keypress', onKey).off('data', afterKeys).off('end', onEnd);
      input.setRawMode(false);
      input.pause();
    },
  };
}

function isTyped(text: string | undefined, key: Key): boolean {
  return (
    key.name === 'return' ||
    key.name === 'enter' ||
    key.name === 'tab' ||
    (text !== undefined && !key.ctrl && !key.meta)
  );
}

/**
 * Normalizes line ends, replaces tabs by spaces and removes control characters, because pasted text is shown as it is.
 */
export function cleanPaste(text: string): string {
  return text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll('\t', '    ')
    .replaceAll(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, '');
}
