import { HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { Driver, Probe } from '../sandbox/driver.ts';
import {
  DRIVER_NAMES,
  type DriverName,
  ISOLATION_LEVELS,
  type IsolationRequest,
  type PassedOver,
} from '../sandbox/isolation.ts';

export interface IsolationChoice {
  readonly driver: Driver;
  readonly passedOver: readonly PassedOver[];
}

export interface ChoiceOptions {
  readonly signal?: AbortSignal;
  /**
   * Makes what the caller wants with this driver. Where that works there is no better trial; where it does not, what is wanted may be at fault,
   * and only the driver's own probe may pass it over.
   */
  readonly attempt?: ((driver: Driver) => Promise<unknown>) | undefined;
}

/**
 * The driver for a request. `auto` takes the strongest that works by a real trial and says what it passed over; a name takes that one
 * or fails. Nothing weaker than `minIsolation` is ever given.
 */
export async function chooseIsolation(
  drivers: Readonly<Record<DriverName, () => Promise<Driver>>>,
  request: IsolationRequest,
  minIsolation: DriverName,
  { attempt, ...options }: ChoiceOptions = {},
): Promise<IsolationChoice> {
  const least = ISOLATION_LEVELS[minIsolation];
  if (request !== 'auto') {
    if (ISOLATION_LEVELS[request] < least) throw tooWeak(request, minIsolation, []);
    return { driver: await drivers[request](), passedOver: [] };
  }
  const passedOver: PassedOver[] = [];
  for (const name of strongestFirst()) {
    if (ISOLATION_LEVELS[name] < least) break;
    const proved = await attempted(drivers[name], attempt);
    if (proved !== undefined) return { driver: proved, passedOver };
    const probe = await probeDriver(name, drivers[name], options);
    if (probe.available) return { driver: await drivers[name](), passedOver };
    passedOver.push({ driver: name, reason: probe.reason, remedy: probe.remedy });
  }
  if (least > ISOLATION_LEVELS.process) throw tooWeak('auto', minIsolation, passedOver);
  throw new HotcellError('driver_unavailable', `nothing on this host can isolate code: ${describe(passedOver)}`, {
    remedy: passedOver.at(-1)?.remedy ?? 'Run `hotcell doctor`.',
    data: { passedOver },
  });
}

async function attempted(load: () => Promise<Driver>, attempt: ChoiceOptions['attempt']): Promise<Driver | undefined> {
  if (attempt === undefined) return undefined;
  try {
    const driver = await load();
    await attempt(driver);
    return driver;
  } catch {
    return undefined;
  }
}

/** One that cannot even be loaded is unavailable, and stands in nobody's way. */
export async function probeDriver(
  name: DriverName,
  load: () => Promise<Driver>,
  options: { signal?: AbortSignal } = {},
): Promise<Probe> {
  try {
    return await (await load()).probe(options);
  } catch (thrown) {
    const error = toHotcellError(thrown);
    return { driver: name, available: false, reason: error.message, remedy: error.remedy ?? 'Run `hotcell doctor`.' };
  }
}

export function strongestFirst(): DriverName[] {
  return [...DRIVER_NAMES].sort((a, b) => ISOLATION_LEVELS[b] - ISOLATION_LEVELS[a]);
}

function tooWeak(request: IsolationRequest, least: DriverName, passedOver: readonly PassedOver[]): HotcellError {
  const reasons = passedOver.length === 0 ? '' : `: ${describe(passedOver)}`;
  const message =
    request === 'auto'
      ? `nothing that reaches ${least} (level ${ISOLATION_LEVELS[least]}) works on this host${reasons}`
      : `${request} (level ${ISOLATION_LEVELS[request]}) is weaker than the least that was asked for, ${least} (level ${ISOLATION_LEVELS[least]})`;
  return new HotcellError('isolation_too_weak', message, {
    remedy: passedOver[0]?.remedy ?? `Ask for ${least}, or lower minIsolation.`,
    data: { passedOver },
  });
}

function describe(passedOver: readonly PassedOver[]): string {
  return passedOver.map(({ driver, reason }) => `${driver}: ${reason}`).join('; ');
}
