import * as z from 'zod';
import { HotcellError } from '../errors/hotcell-error.ts';
import { configSchema } from './schema.ts';

/** The environment variable of an option: `maxSessions` → `HOTCELL_MAX_SESSIONS`. */
export function environmentName(option: string, prefix = 'HOTCELL'): string {
  return `${prefix}_${option.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** The options set by environment variables, not validated yet. A list is separated by commas; options with members are JSON. */
export function optionsFromEnvironment(env: NodeJS.ProcessEnv): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(configSchema.shape)) {
    const value = env[environmentName(name)];
    if (value === undefined || value === '') continue;
    found[name] = fromText(name, schema, value);
  }
  return found;
}

/** Options that are JSON in the environment, each with the remedy for other text. */
const JSON_OPTIONS: Readonly<Record<string, string>> = {
  recipes: 'Pass a list of recipes as JSON; see docs/guides/languages.md.',
  forwards: 'Pass an object as JSON, such as {"db": "postgres.internal:5432"}; see docs/guides/network.md.',
  credentials: 'Pass an object as JSON; see docs/guides/network.md.',
};

function fromText(name: string, schema: z.ZodType, value: string): unknown {
  const remedy = JSON_OPTIONS[name];
  if (remedy === undefined) return isList(schema) ? value.split(',').filter(Boolean) : value;
  try {
    return JSON.parse(value);
  } catch {
    throw new HotcellError('invalid_argument', `${environmentName(name)}: not JSON`, {
      remedy,
    });
  }
}

function isList(schema: z.ZodType): boolean {
  return schema instanceof z.ZodDefault ? isList(schema.unwrap() as z.ZodType) : schema instanceof z.ZodArray;
}
