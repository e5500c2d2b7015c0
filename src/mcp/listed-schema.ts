import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import * as z from 'zod';

export type ListedSchema = StandardSchemaWithJSON<Record<string, unknown>>;

/**
 * A schema as clients see it, without its check: tools check their own arguments, because a complaint must be an error of ours, with a code and what to do. Converted
 * when it is first listed, and once: a server is made per HTTP request.
 */
export function listedSchema(schema: z.ZodObject): ListedSchema {
  const listed: Partial<Record<'input' | 'output', Record<string, unknown>>> = {};
  const convert = (io: 'input' | 'output') => () => {
    listed[io] ??= z.toJSONSchema(schema, { io, target: 'draft-2020-12' }) as Record<string, unknown>;
    return listed[io];
  };
  return {
    '~standard': {
      version: 1,
      vendor: 'hotcell',
      validate: (value) => ({ value: value as Record<string, unknown> }),
      jsonSchema: { input: convert('input'), output: convert('output') },
    },
  };
}
