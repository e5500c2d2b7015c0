import { HotcellError } from '../errors/hotcell-error.ts';
import { environmentName } from './environment.ts';
import type { Config } from './schema.ts';

type NumberOption = 'maxTimeoutMs' | 'maxMemoryBytes' | 'maxCpus' | 'maxProcesses' | 'sessionMaxAgeMs';

/**
 * What a caller asks for, against what the server allows, in the caller's own name and unit (`perUnit` of the option's make one). The library checks it too, but speaks
 * of its own options. Throws `invalid_argument`.
 */
export function requireAtMost(
  name: string,
  asked: number | undefined,
  { config, option, perUnit = 1 }: { config: Pick<Config, NumberOption>; option: NumberOption; perUnit?: number },
): void {
  const most = Math.floor((config[option] / perUnit) * 1000) / 1000;
  if (asked === undefined || asked <= most) return;
  throw new HotcellError('invalid_argument', `${name}: ${asked} is more than ${most}, which is the limit here`, {
    remedy: `Ask for ${most} at most. Whoever runs the server can allow more with ${environmentName(option)}.`,
  });
}
