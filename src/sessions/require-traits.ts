import { HotcellError } from '../errors/hotcell-error.ts';
import { type DriverDeclarations, driversWith } from '../sandbox/declaration.ts';
import type { Driver } from '../sandbox/driver.ts';
import type { PassedOver } from '../sandbox/isolation.ts';
import type { DriverTraits } from '../sandbox/traits.ts';

/** The traits that a request can need: the error for a driver without one, and the option that asked for it. */
const NEEDS = {
  images: {
    code: 'invalid_argument',
    option: 'image',
    why: (driver: string) => `image: the isolation ${driver} has no images`,
  },
  mounts: {
    code: 'invalid_argument',
    option: 'mounts',
    why: (driver: string) => `mounts: the isolation ${driver} binds no folders`,
  },
  persistence: {
    code: 'not_persistent',
    option: 'persistent',
    why: (driver: string) => `${driver}: its sandboxes end with the server`,
  },
} as const satisfies Partial<Record<keyof DriverTraits, unknown>>;

export type NeededTrait = keyof typeof NEEDS;

export interface ChosenDriver {
  readonly driver: Pick<Driver, 'name' | 'traits'>;
  readonly passedOver: readonly PassedOver[];
}

/**
 * Throws if the chosen driver lacks a trait that the request needs, and names the drivers that have it. A request is
 * never silently weakened: code meant for an image does not run outside it, and a persistent session does not end with
 * its server.
 */
export function requireTraits(
  needed: readonly NeededTrait[],
  { driver, passedOver }: ChosenDriver,
  declared: DriverDeclarations,
): void {
  const lacking = needed.find((trait) => !driver.traits[trait]);
  if (lacking === undefined) return;
  const { code, option, why } = NEEDS[lacking];
  const reasons = passedOver.map((passed) => ` ${passed.driver}: ${passed.reason}.`).join('');
  throw new HotcellError(code, why(driver.name), {
    remedy: `Open it with isolation ${driversWith(lacking, declared).join(' or ')}, or without ${option}.${reasons}`,
    data: { passedOver },
  });
}
