import type * as z from 'zod';
import type { ProfileSettings } from '../../config/profiles/define-settings.ts';
import type { ProfileName } from '../../config/schema.ts';
import type { Tool } from '../define-tool.ts';

/** The tools and instructions of a server: of one profile, or of several together. */
export interface ProfileSet {
  readonly tools: readonly Tool[];
  readonly instructions: string;
  /** Maximum size of a client's message, if a tool takes larger files than usual. */
  readonly largestMessageBytes?: number;
  /** Whether files need a signed link or a token, even from the same machine. */
  readonly signedFilesOnly?: boolean;
}

/** Reads the settings of a profile. Called only if the profile is in use. */
export type ReadSettings = <Schema extends z.ZodObject>(settings: ProfileSettings<Schema>) => z.infer<Schema>;

/**
 * A set of tools: Hotcell's own, or those of another system under its names. Each profile is one value in a folder of
 * its own.
 */
export interface Profile {
  readonly name: ProfileName;
  /** Called once per server, so that tools and schemas are not made again for each request. */
  offer(read: ReadSettings): ProfileSet;
}

/** Defines a profile with settings. Their schema is in `config/profiles/`. */
export function defineProfile<Schema extends z.ZodObject>(
  settings: ProfileSettings<Schema>,
  offer: (settings: z.infer<Schema>) => ProfileSet,
): Profile {
  return { name: settings.profile, offer: (read) => offer(read(settings)) };
}
