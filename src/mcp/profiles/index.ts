import type { ProfileName } from '../../config/schema.ts';
import { INSTRUCTIONS } from '../instructions.ts';
import { TOOLS } from '../tools/index.ts';
import { codeSandbox } from './code-sandbox/index.ts';
import type { Profile, ProfileSet, ReadSettings } from './define-profile.ts';

export type { ProfileSet } from './define-profile.ts';

/** Hotcell's own tools. They have no settings besides the options of the server. */
const hotcell: Profile = { name: 'hotcell', offer: () => ({ tools: TOOLS, instructions: INSTRUCTIONS }) };

const PROFILES: readonly Profile[] = [hotcell, codeSandbox];

/** Combines the profiles of a server. */
export function profileSetOf(names: readonly ProfileName[], read: ReadSettings): ProfileSet {
  const offers = PROFILES.filter(({ name }) => names.includes(name)).map((profile) => profile.offer(read));
  const largestMessageBytes = Math.max(...offers.map((offer) => offer.largestMessageBytes ?? 0));
  return {
    tools: offers.flatMap(({ tools }) => tools),
    instructions: offers.map(({ instructions }) => instructions).join('\n\n'),
    ...(largestMessageBytes === 0 ? {} : { largestMessageBytes }),
    signedFilesOnly: offers.some((offer) => offer.signedFilesOnly === true),
  };
}
