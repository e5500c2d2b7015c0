import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import * as z from 'zod';

export type ListedSchema = StandardSchemaWithJSON<Record<string, unknown>>;

/**
 * A schema as clients see it, without validation: tools check their own arguments, so that a problem is a HotcellError
 * with a code and a remedy. Converted on the first listing, and once: a server is made per HTTP request.
 */
export function listedSchema(schema: z.ZodObject): ListedSchema {
  const listed: Partial<Record<'input' | 'output', Record<string, unknown>>> = {};
  const convert = (io: 'input' | 'output') => () => {
    listed[io] ??= leanSchema(schema, io);
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

/**
 * Keywords that are not listed. Each model reads the list before its first call, and some APIs of models refuse schemas
 * with these. An argument out of bounds is refused with a message that names the bound.
 */
const UNLISTED = [
  ...(['minLength', 'maxLength', 'pattern', 'propertyNames'] as const),
  ...(['minimum', 'maximum', 'maxItems'] as const),
];

function leanSchema(schema: z.ZodObject, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...lean } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    override: ({ jsonSchema }) => {
      for (const keyword of UNLISTED) delete jsonSchema[keyword];
    },
  });
  return lean;
}
