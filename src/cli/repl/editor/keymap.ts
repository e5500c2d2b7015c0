import type { Key } from 'node:readline';
import * as edit from './buffer.ts';

export type Change = (buffer: edit.Buffer) => edit.Buffer;

const CONTROL: Readonly<Record<string, Change>> = {
  a: edit.home,
  b: edit.left,
  d: edit.deleteForward,
  e: edit.end,
  f: edit.right,
  h: edit.backspace,
  k: (buffer) => edit.cut(buffer, edit.end(buffer).cursor),
  left: edit.wordLeft,
  right: edit.wordRight,
  u: (buffer) => edit.cut(buffer, edit.home(buffer).cursor),
  w: (buffer) => edit.cut(buffer, edit.wordLeft(buffer).cursor),
};
const META: Readonly<Record<string, Change>> = {
  b: edit.wordLeft,
  backspace: (buffer) => edit.cut(buffer, edit.wordLeft(buffer).cursor),
  d: (buffer) => edit.cut(buffer, edit.wordRight(buffer).cursor),
  enter: (buffer) => edit.insert(buffer, '\n'),
  f: edit.wordRight,
  left: edit.wordLeft,
  return: (buffer) => edit.insert(buffer, '\n'),
  right: edit.wordRight,
};
const PLAIN: Readonly<Record<string, Change>> = {
  backspace: edit.backspace,
  delete: edit.deleteForward,
  end: edit.end,
  home: edit.home,
  left: edit.left,
  right: edit.right,
};

/**
 * The change that a key makes to the text, as in readline and Emacs. Enter, Tab and the history are handled by the
 * editor.
 */
export function changeOf(text: string, key: Key): Change | undefined {
  const found = (key.ctrl ? CONTROL : key.meta ? META : PLAIN)[key.name ?? ''];
  if (found !== undefined) return found;
  if (key.ctrl || key.meta || text === '' || /[\x00-\x1f\x7f-\x9f]/.test(text)) return undefined;
  return (buffer) => edit.insert(buffer, text);
}
