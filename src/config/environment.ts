import * as z from 'zod';
import { HotcellError } from '../errors/hotcell-error.ts';
import { configSchema } from './schema.ts';

/** The environment variable of an option: `maxSessions` → `HOTCELL_MAX_SESSIONS`. */
export function environmentName(option: string, prefix = 'HOTCELL'): string {
  return `${prefix}_${option.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** The options set by environment variables, not validated yet. A list is separated by commas; recipes are JSON. */
export function optionsFromEnvironment(env: NodeJS.ProcessEnv): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(configSchema.shape)) {
    const value = env[environmentName(name)];
    if (value === undefined || value === '') continue;
    found[name] = fromText(name, schema, value);
  }
  return found;
}

function fromText(name: string, schema: z.ZodType, value: string): unknown {
  if (name !== 'recipes') return isList(schema) ? value.split(',').filter(Boolean) : value;
  try {
    return JSON.parse(value);
  } catch {
    throw new HotcellError('invalid_argument', `${environmentName(name)}: not JSON`, {
      remedy: 'Pass a list of recipes as JSON; see docs/guides/languages.md.',
    });
  }
}

function isList(schema: z.ZodType): boolean {
  return schema instanceof z.ZodDefault ? isList(schema.unwrap() as z.ZodType) : schema instanceof z.ZodArray;
}
