import { expect } from 'vitest';
import type * as z from 'zod';

/** Escape sequences (title, clipboard, a question, colours that hide), C1, marks that turn text, characters without width, line separators, a line of its own. */
export const HOSTILE =
  'hostile\x1b]0;owned\x07\x1b]52;c;Y3VybA==\x1b\\\x1b[6n\x1b[8m\x9b2J\x9d0;t\x9c\x85\u202e\u2066\u200f\u061c\u200b\u2060\ufeff\u2028\u2029\u3164\u2800\x07\x7f\nforged: line\rover';

/**
 * Values that fit a schema, with `text` in every string of it: one for each member of a union. Derived from the schema, so that a field that is added is
 * tried, too. `short` bounds every string by what the schema allows.
 */
export function filledWith(schema: z.ZodType, text: string): unknown[] {
  // biome-ignore lint/suspicious/noExplicitAny: zod's own description of a schema
  const def = schema.def as any;
  const inner = () => filledWith(def.innerType, text);
  switch (def.type) {
    case 'string':
      return [text.slice(0, (schema as z.ZodString).maxLength ?? text.length)];
    case 'number':
      return [Math.max(1, (schema as z.ZodNumber).minValue ?? 1)];
    case 'boolean':
      return [true];
    case 'literal':
      return [def.values[0]];
    case 'enum':
      return [Object.values(def.entries)[0]];
    case 'unknown':
      return [text];
    case 'array':
      return filledWith(def.element, text).map((item) => [item]);
    case 'record':
      return filledWith(def.valueType, text).map((value) => ({ [text]: value }));
    case 'union':
      return def.options.flatMap((option: z.ZodType) => filledWith(option, text));
    case 'object':
      return objects(Object.entries(def.shape as Record<string, z.ZodType>), text);
    case 'optional':
    case 'default':
    case 'readonly':
    case 'nullable':
      return inner();
    default:
      throw new Error(`a schema of the kind ${def.type} is not filled yet`);
  }
}

/** As many as the member with the most values has; the others repeat theirs. */
function objects(members: [string, z.ZodType][], text: string): object[] {
  const values = members.map(([name, schema]) => [name, filledWith(schema, text)] as const);
  const most = Math.max(1, ...values.map(([, all]) => all.length));
  return Array.from({ length: most }, (_, at) =>
    Object.fromEntries(values.map(([name, all]) => [name, all[at % all.length]])),
  );
}

/** How many strings of a value hold the text. */
export function countOf(value: unknown, text: string): number {
  return JSON.stringify(value).split(JSON.stringify(text).slice(1, 8)).length - 1;
}

/** Nothing of it is obeyed by a terminal, or hides on one. The moves of the line editor are ours. */
export function expectHarmless(written: string, options: { editor?: boolean } = {}): void {
  const text = options.editor ? written.replaceAll(/\x1b\[(\d+[AC]|J|2K|\?2004[hl])/g, '') : written;
  const found =
    /[\x00-\x06\x07\x0b-\x0c\x0e-\x1f\x7f-\x9f\p{Bidi_Control}\u200b\u2028\u2029\u2060\ufeff\u3164\u2800]/u.exec(text);
  const around = found === null ? '' : JSON.stringify(text.slice(Math.max(0, found.index - 80), found.index + 40));
  expect(around).toBe('');
}
