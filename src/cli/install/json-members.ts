import type { Node } from 'jsonc-parser';

/**
 * Inserts and removes members of an object in JSON text, in the style of the text around them. jsonc-parser's own edits
 * reformat the neighbours too.
 */

/** Appends a member to the object. */
export function insertMember(text: string, object: Node, name: string, value: unknown): string {
  const open = object.offset + 1;
  const close = object.offset + object.length - 1;
  const last = object.children?.at(-1);
  const isOneLine =
    !text.slice(object.offset, close).includes('\n') && (last !== undefined || !text.trim().includes('\n'));
  if (isOneLine && last !== undefined) {
    return splice(text, end(last), end(last), `, ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  }
  const { unit, eol } = styleOf(text);
  const outer = indentAt(text, object.offset);
  const inner = last === undefined || isOneLine ? outer + unit : indentAt(text, last.offset);
  const member = `${eol}${inner}${JSON.stringify(name)}: ${rendered(value, unit, inner, eol)}`;
  if (last === undefined) {
    const inside = text.slice(open, close).trimEnd(); // comments at most
    return splice(text, open, close, `${inside}${member}${eol}${outer}`);
  }
  const { comma, lineEnd } = afterMember(text, end(last), close);
  if (comma !== undefined) return splice(text, lineEnd, lineEnd, `${member},`);
  return splice(splice(text, lineEnd, lineEnd, member), end(last), end(last), ',');
}

/** Removes the member with this value, with its comma and white space. */
export function removeMember(text: string, value: Node): string {
  const member = value.parent;
  const object = member?.parent;
  if (member === undefined || object?.children === undefined) return text;
  const close = object.offset + object.length - 1;
  const { comma } = afterMember(text, end(member), close);
  const previous = object.children[object.children.indexOf(member) - 1];
  const start = text.slice(0, member.offset).trimEnd().length;
  if (comma !== undefined) return splice(text, start, comma + 1, '');
  if (previous !== undefined) {
    const before = afterMember(text, end(previous), member.offset).comma ?? start;
    return splice(splice(text, start, end(member), ''), before, Math.min(before + 1, start), '');
  }
  const isEmpty = text.slice(object.offset + 1, start).trim() === '' && text.slice(end(member), close).trim() === '';
  return isEmpty ? splice(text, object.offset + 1, close, '') : splice(text, start, end(member), '');
}

export function replaceValue(text: string, value: Node, wanted: unknown): string {
  const { unit, eol } = styleOf(text);
  const isOneLine = !text.slice(value.offset, end(value)).includes('\n');
  const inner = indentAt(text, value.parent?.offset ?? value.offset);
  return splice(
    text,
    value.offset,
    end(value),
    isOneLine ? JSON.stringify(wanted) : rendered(wanted, unit, inner, eol),
  );
}

/** The comma after a member, if there is one before `limit`, and the end of its line, including a comment there. */
function afterMember(text: string, from: number, limit: number): { comma?: number; lineEnd: number } {
  let comma: number | undefined;
  let lineEnd = from;
  let isSameLine = true;
  // Valid JSON has nothing else between two members.
  for (const token of text.slice(from, limit).matchAll(/,|\n|\/\/[^\r\n]*|\/\*[\s\S]*?(?:\*\/|$)/g)) {
    if (token[0] === '\n') isSameLine = false;
    else if (token[0] === ',') comma = from + token.index;
    if (token[0] === ',' || (isSameLine && token[0] !== '\n')) lineEnd = from + token.index + token[0].length;
    if (token[0] === ',') isSameLine = true;
  }
  return comma === undefined ? { lineEnd } : { comma, lineEnd };
}

/** The style of the file: tabs or spaces, how many, and its line ends. */
function styleOf(text: string): { unit: string; eol: string } {
  return { unit: text.match(/^([ \t]+)\S/m)?.[1] ?? '  ', eol: text.includes('\r\n') ? '\r\n' : '\n' };
}

function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1);
  return line.match(/^[ \t]*/)?.[0] ?? '';
}

function rendered(value: unknown, unit: string, indent: string, eol: string): string {
  return JSON.stringify(value, null, unit).replaceAll('\n', eol + indent);
}

function end(node: Node): number {
  return node.offset + node.length;
}

function splice(text: string, from: number, to: number, replacement: string): string {
  return text.slice(0, from) + replacement + text.slice(to);
}
