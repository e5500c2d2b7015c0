import type * as z from 'zod';
import type { ProfileSettings } from '../../config/profiles/define-settings.ts';
import type { ProfileName } from '../../config/schema.ts';
import type { Tool } from '../define-tool.ts';

/** What a server offers its MCP clients: the tools of one profile, or of several side by side. */
export interface Offer {
  readonly tools: readonly Tool[];
  readonly instructions: string;
  /** The largest message that a client may send, where a tool takes larger files than usual. */
  readonly largestMessageBytes?: number;
  /** Files need a signed link or a token, even from this machine. */
  readonly signedFilesOnly?: boolean;
}

/** Reads the settings of a profile. Called only where the profile is in use. */
export type ReadSettings = <Schema extends z.ZodObject>(settings: ProfileSettings<Schema>) => z.infer<Schema>;

/** The tools of Hotcell, or those of a system that people come from, under their names. One value in a folder of its own. */
export interface Profile {
  readonly name: ProfileName;
  /** Called once for a server: tools and schemas are not made again for each request. */
  offer(read: ReadSettings): Offer;
}

/** A profile with settings of its own. Its part of the configuration stands in `config/profiles/`. */
export function defineProfile<Schema extends z.ZodObject>(
  settings: ProfileSettings<Schema>,
  offer: (settings: z.infer<Schema>) => Offer,
): Profile {
  return { name: settings.profile, offer: (read) => offer(read(settings)) };
}
