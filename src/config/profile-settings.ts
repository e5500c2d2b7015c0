import type * as z from 'zod';
import type { ConfigFile } from './config-file.ts';
import { environmentName } from './environment.ts';
import { parseOptions } from './parse-options.ts';
import type { ProfileSettings } from './profiles/define-settings.ts';
import { PROFILE_SETTINGS } from './profiles/index.ts';
import type { ProfileName } from './schema.ts';

/** Defaults of the profiles, by option. If two profiles set the same option, the last one wins. */
export function profileDefaults(
  profiles: readonly ProfileName[],
  sources: ProfileSources,
): Map<string, { profile: ProfileName; value: unknown }> {
  const isOnly = profiles.length === 1;
  return new Map(
    profiles.flatMap((profile) => {
      const settings = PROFILE_SETTINGS[profile];
      const defaults = settings?.serverDefaults(readSettings(settings, sources), { isOnly }) ?? {};
      return Object.entries(defaults).map(([option, value]): [string, { profile: ProfileName; value: unknown }] => [
        option,
        { profile, value },
      ]);
    }),
  );
}

export interface ProfileSources {
  readonly env: NodeJS.ProcessEnv;
  readonly file: ConfigFile | undefined;
}

/** The settings of a profile: from the environment, then from `profiles` of the configuration file, then its defaults. */
export function readSettings<Schema extends z.ZodObject>(
  { profile, schema, prefix, fromText }: ProfileSettings<Schema>,
  { env, file }: ProfileSources,
): z.infer<Schema> {
  const fromFile = file?.profiles[profile] ?? {};
  const fromEnvironment: Record<string, unknown> = {};
  for (const name of Object.keys(schema.shape)) {
    const text = env[environmentName(name, prefix)];
    if (text !== undefined && text !== '') fromEnvironment[name] = fromText?.(name, text) ?? text;
  }
  const nameOf = (name: string) =>
    name in fromEnvironment || !(name in fromFile)
      ? environmentName(name, prefix)
      : `${file!.path}: profiles.${profile}.${name}`;
  return parseOptions(schema, { ...fromFile, ...fromEnvironment }, { nameOf });
}
