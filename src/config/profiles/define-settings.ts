import type * as z from 'zod';
import type { Config, ProfileName } from '../schema.ts';

/**
 * The settings of one profile: their names, and their effect on the whole server. Read only if the profile is in use.
 */
export interface ProfileSettings<Schema extends z.ZodObject = z.ZodObject> {
  readonly profile: ProfileName;
  readonly schema: Schema;
  /** The prefix of the environment variables: `SANDBOX` makes `execTimeoutS` into `SANDBOX_EXEC_TIMEOUT_S`. */
  readonly prefix: string;
  /** Normalises the text of an environment variable before it is checked. */
  fromText?(name: string, text: string): unknown;
  /** Defaults of the server's own options. An option that is set explicitly wins. `isOnly`: the server offers no other profile. */
  serverDefaults(settings: z.infer<Schema>, context: { readonly isOnly: boolean }): Partial<Config>;
}

/** Checks the types of a profile's settings. */
export function defineSettings<Schema extends z.ZodObject>(settings: ProfileSettings<Schema>): ProfileSettings<Schema> {
  return settings;
}
