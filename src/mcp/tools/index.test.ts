import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { INSTRUCTIONS } from '../instructions.ts';
import { PROMPTS } from '../prompts/index.ts';
import { TOOLS } from './index.ts';

/** Claude Code truncates longer texts. */
const MOST_BYTES = 2048;

test('the instructions fit into the size that clients pass on', () => {
  expect(Buffer.byteLength(INSTRUCTIONS)).toBeLessThanOrEqual(MOST_BYTES);
});

test('a text that names an optional tool says that the server may not have it', () => {
  const prompts = PROMPTS.map(({ text }) => text({ file: 'a.csv', chart: 'b' }));
  for (const tool of TOOLS.filter((each) => each.needsHostFiles || each.needsNetwork || each.needsInstalling)) {
    const others = TOOLS.filter((other) => other !== tool).map(({ description }) => description);
    for (const text of [INSTRUCTIONS, ...others, ...prompts].filter((each) => each.includes(tool.name))) {
      expect(text).toMatch(new RegExp(`${tool.name} \\(if available`));
    }
  }
});

test('no two tools have the same name', () => {
  expect(new Set(TOOLS.map(({ name }) => name)).size).toBe(TOOLS.length);
});

describe.each(TOOLS.map((tool) => [tool.name, tool] as const))('%s', (name, tool) => {
  test('has a description that fits into the size that clients pass on', () => {
    expect(Buffer.byteLength(tool.description)).toBeLessThanOrEqual(MOST_BYTES);
    expect(tool.description.length).toBeGreaterThan(60);
    expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });

  test('has only examples that its own schema accepts', () => {
    for (const [example] of tool.description.matchAll(/^ {2}\{.*?\}(?= {2,}|$)/gm)) {
      expect(() => tool.input.parse(JSON.parse(example)), example).not.toThrow();
    }
  });

  test('refuses unknown arguments', () => {
    const { success } = tool.input.safeParse({ nonsense: 1 });
    expect(success).toBe(false);
  });

  test('has schemas that every client can read', () => {
    for (const [schema, io] of [
      [tool.input, 'input'],
      [tool.output, 'output'],
    ] as const) {
      const json = z.toJSONSchema(schema, { io });
      expect(json.type).toBe('object');
      expect(JSON.stringify(json)).not.toMatch(/"\$ref"|"allOf"|"not":/);
    }
  });
});
