import { HotcellError } from '../errors/hotcell-error.ts';
import { flagName } from './flags.ts';
import type { Config } from './schema.ts';

type NumberOption = 'maxTimeoutMs' | 'maxMemoryBytes' | 'maxCpus' | 'maxProcesses' | 'sessionMaxAgeMs';

/**
 * Checks an argument against the server's maximum and reports it in the caller's own name and unit (`perUnit` units of the option make one). The library checks it too, but names
 * its own options. Throws `invalid_argument`.
 */
export function requireAtMost(
  name: string,
  asked: number | undefined,
  { config, option, perUnit = 1 }: { config: Pick<Config, NumberOption>; option: NumberOption; perUnit?: number },
): void {
  const most = Math.floor((config[option] / perUnit) * 1000) / 1000;
  if (asked === undefined || asked <= most) return;
  throw new HotcellError('invalid_argument', `${name}: ${asked} is more than ${most}, the limit of this server`, {
    remedy: `Ask for ${most} at most. The operator of the server can raise the limit with ${flagName(option)}.`,
  });
}
