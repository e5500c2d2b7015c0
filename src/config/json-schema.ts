import * as z from 'zod';
import { PROFILE_SETTINGS } from './profiles/index.ts';
import { configSchema } from './schema.ts';

/** The JSON Schema of a configuration file, for editors. `config.schema.json` is held equal to it by a test. */
export function configJsonSchema(): Record<string, unknown> {
  const profiles = Object.entries(PROFILE_SETTINGS).map(([name, settings]) => [name, tableOf(settings.schema)]);
  const { properties, ...rest } = tableOf(configSchema);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of Hotcell',
    ...rest,
    properties: {
      $schema: { type: 'string', description: 'The address of this schema' },
      ...(properties as object),
      profiles: {
        type: 'object',
        description: 'Settings of profiles, by name',
        additionalProperties: false,
        properties: Object.fromEntries(profiles),
      },
    },
  };
}

/** Members are optional and typed as a person writes them: numbers are numbers. */
function tableOf(schema: z.ZodObject): Record<string, unknown> {
  const { $schema: _, required: _required, ...table } = z.toJSONSchema(schema, { io: 'output' });
  return { ...table, additionalProperties: false };
}
