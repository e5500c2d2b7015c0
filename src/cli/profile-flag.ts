import type { Config } from '../config/schema.ts';

/** `--profile a,b`. Whether the names are known is the configuration's to say. */
export function profileOption(flag: string | undefined): Partial<Config> {
  return flag === undefined ? {} : { profile: flag.split(',').map((name) => name.trim()) as Config['profile'] };
}
