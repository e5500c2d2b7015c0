import { HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import {
  isWeakest,
  leastLevel,
  mostLevel,
  type OfferedDriver,
  type OfferedDrivers,
  strongestFirst,
} from '../sandbox/declaration.ts';
import type { Driver, Probe } from '../sandbox/driver.ts';
import type { DriverName, IsolationRequest, PassedOver } from '../sandbox/isolation.ts';

export interface IsolationChoice {
  readonly driver: Driver;
  /** The level that the probe found; without a probe, the minimum that the driver declares. */
  readonly level: number;
  readonly passedOver: readonly PassedOver[];
}

export interface ChoiceOptions {
  readonly signal?: AbortSignal;
  /**
   * Tries the caller's request with this driver. If it works, no other trial is needed. If it fails, the request may be
   * at fault, so only the driver's own probe decides whether it is passed over.
   */
  readonly attempt?: ((driver: Driver) => Promise<unknown>) | undefined;
}

/**
 * Chooses the driver for a request. `auto` takes the strongest that works in a real trial, and reports those it passed
 * over; a name takes that driver or fails. Nothing weaker than `minIsolation` is ever chosen: if a declaration does not
 * prove the level, the probe does.
 */
export async function chooseIsolation(
  drivers: OfferedDrivers,
  request: IsolationRequest,
  minIsolation: DriverName,
  options: ChoiceOptions = {},
): Promise<IsolationChoice> {
  if (request !== 'auto') return chooseNamed(drivers, request, minIsolation, options);
  const { attempt, signal } = options;
  const least = leastLevel(drivers[minIsolation]);
  const passedOver: PassedOver[] = [];
  let best: Omit<IsolationChoice, 'passedOver'> | undefined;
  for (const name of strongestFirst(drivers)) {
    const offered = drivers[name];
    if (mostLevel(offered) < least || (best !== undefined && mostLevel(offered) <= best.level)) break;
    // A trial proves that a driver works, but not at which of several levels.
    const proved = offered.levels.length === 1 ? await attempted(offered, attempt) : undefined;
    if (proved !== undefined) return { driver: proved, level: leastLevel(offered), passedOver };
    const probe = await probeDriver(name, offered, { signal });
    const reason = whyPassedOver(probe, least);
    if (reason !== undefined) passedOver.push(reason);
    else if (probe.available && probe.isolation.level > (best?.level ?? 0)) {
      best = { driver: await offered.load(), level: probe.isolation.level };
    }
  }
  if (best !== undefined) return { ...best, passedOver };
  if (!isWeakest(minIsolation, drivers)) throw tooWeak(drivers, minIsolation, passedOver);
  throw new HotcellError('driver_unavailable', `no isolation works on this host: ${describe(passedOver)}`, {
    remedy: passedOver.at(-1)?.remedy ?? 'Run `hotcell doctor`.',
    data: { passedOver },
  });
}

async function chooseNamed(
  drivers: OfferedDrivers,
  name: DriverName,
  minIsolation: DriverName,
  { signal }: ChoiceOptions,
): Promise<IsolationChoice> {
  const offered = drivers[name];
  const least = leastLevel(drivers[minIsolation]);
  if (mostLevel(offered) < least) throw namedTooWeak(drivers, name, mostLevel(offered), minIsolation);
  if (leastLevel(offered) >= least) return { driver: await offered.load(), level: leastLevel(offered), passedOver: [] };
  const probe = await probeDriver(name, offered, { signal });
  if (!probe.available) {
    throw new HotcellError('driver_unavailable', `${name}: ${probe.reason}`, { remedy: probe.remedy });
  }
  const { level } = probe.isolation;
  if (level < least) throw namedTooWeak(drivers, name, level, minIsolation);
  return { driver: await offered.load(), level, passedOver: [] };
}

/** Why `auto` passes over a probed driver; undefined if it may be taken. */
export function whyPassedOver(probe: Probe, least: number): PassedOver | undefined {
  const { driver } = probe;
  if (!probe.available) return { driver, reason: probe.reason, remedy: probe.remedy };
  const { level } = probe.isolation;
  return level < least ? { driver, reason: `it reaches only level ${level} on this host` } : undefined;
}

async function attempted(offered: OfferedDriver, attempt: ChoiceOptions['attempt']): Promise<Driver | undefined> {
  if (attempt === undefined) return undefined;
  try {
    const driver = await offered.load();
    await attempt(driver);
    return driver;
  } catch {
    return undefined;
  }
}

/** Probes a driver. One that cannot be loaded is unavailable; the others can still be chosen. */
export async function probeDriver(
  name: DriverName,
  { load }: Pick<OfferedDriver, 'load'>,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<Probe> {
  try {
    return await (await load()).probe(options);
  } catch (thrown) {
    const error = toHotcellError(thrown);
    return { driver: name, available: false, reason: error.message, remedy: error.remedy ?? 'Run `hotcell doctor`.' };
  }
}

function tooWeak(drivers: OfferedDrivers, least: DriverName, passedOver: readonly PassedOver[]): HotcellError {
  const reasons = passedOver.length === 0 ? '' : `: ${describe(passedOver)}`;
  const message = `nothing that reaches ${levelOf(drivers, least)} works on this host${reasons}`;
  return new HotcellError('isolation_too_weak', message, {
    remedy: passedOver[0]?.remedy ?? askFor(least),
    data: { passedOver },
  });
}

function namedTooWeak(drivers: OfferedDrivers, name: DriverName, level: number, least: DriverName): HotcellError {
  const message = `${name} (level ${level}) is weaker than the required minimum, ${levelOf(drivers, least)}`;
  return new HotcellError('isolation_too_weak', message, { remedy: askFor(least), data: { passedOver: [] } });
}

function levelOf(drivers: OfferedDrivers, name: DriverName): string {
  return `${name} (level ${leastLevel(drivers[name])})`;
}

function askFor(least: DriverName): string {
  return `Request ${least}, or lower minIsolation.`;
}

function describe(passedOver: readonly PassedOver[]): string {
  return passedOver.map(({ driver, reason }) => `${driver}: ${reason}`).join('; ');
}
