import * as z from 'zod';
import { PROFILE_SETTINGS } from './profiles/index.ts';
import { configSchema } from './schema.ts';

/** The JSON Schema of a configuration file, for editors. A test keeps `config.schema.json` equal to it. */
export function configJsonSchema(): Record<string, unknown> {
  const profiles = Object.entries(PROFILE_SETTINGS).map(([name, settings]) => [name, tableOf(settings.schema)]);
  const { properties, ...rest } = tableOf(configSchema);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of Hotcell',
    ...rest,
    properties: {
      $schema: { type: 'string', description: 'URL of this schema' },
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

/** Makes members optional, with the types of JSON: numbers are numbers. */
function tableOf(schema: z.ZodObject): Record<string, unknown> {
  const { $schema: _, required: _required, ...table } = z.toJSONSchema(schema, { io: 'output' });
  return { ...table, additionalProperties: false };
}
