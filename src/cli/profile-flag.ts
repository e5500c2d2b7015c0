import { type Config, PROFILE_NAMES } from '../config/schema.ts';
import { HotcellError } from '../errors/hotcell-error.ts';

/** Parses `--profile a,b`. */
export function profileOption(flag: string | undefined): Partial<Config> {
  return flag === undefined ? {} : { profile: flag.split(',').map((name) => profileName(name.trim())) };
}

function profileName(text: string): Config['profile'][number] {
  const found = PROFILE_NAMES.find((name) => name === text);
  if (found !== undefined) return found;
  throw new HotcellError('invalid_argument', `--profile: ${text} is not one of ${PROFILE_NAMES.join(', ')}`, {
    remedy: 'Use one of them, or several separated by commas.',
  });
}
