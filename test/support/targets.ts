import type { DriverFactories } from '../../src/drivers/loaded-drivers.ts';
import { createProcessDriver } from '../../src/drivers/process/index.ts';
import { DRIVERS } from '../../src/drivers/registry.ts';
import { recipeSchema } from '../../src/languages/recipe.ts';
import { type Hotcell, type HotcellOptions, openHotcell } from '../../src/main.ts';
import type { Driver } from '../../src/sandbox/driver.ts';
import type { Host } from '../../src/sandbox/host.ts';
import type { DriverName } from '../../src/sandbox/isolation.ts';
import { createBareDriver } from './bare-driver.ts';
import { TEST_RECIPES } from './test-recipes.ts';

export const TARGET_NAMES = [
  'bare',
  'process, shared',
  'process, single',
  'process, without cgroups',
  'docker',
  'gvisor',
] as const;
export type TargetName = (typeof TARGET_NAMES)[number];

/** A way to isolate that the suites run against: a driver, in one of its shapes. */
export interface Target {
  readonly name: TargetName;
  readonly options: HotcellOptions;
  /** Nothing is isolated: only shows that an attack would succeed. */
  readonly bare?: boolean;
  /** A second kernel or a container: what is slow there is tried less often. */
  readonly slow?: boolean;
  /** Kernels are forked from a stage that has loaded what users have by default. Elsewhere that would cost each sandbox a second. */
  readonly preloads?: boolean;
  /** Time between the steps of the interrupt ladder; a second when absent, as for users. */
  readonly interruptGraceMs?: number;
}

const process = (shape: 'shared' | 'single', cgroups: boolean): HotcellOptions => ({
  isolation: 'process',
  drivers: { process: async (host) => createProcessDriver(host, { shape, cgroups }) },
});

export const TARGETS = {
  bare: {
    name: 'bare',
    bare: true,
    options: { isolation: 'process', drivers: { process: async (host) => createBareDriver(host) } },
  },
  shared: { name: 'process, shared', options: process('shared', true) },
  single: { name: 'process, single', options: process('single', true) },
  soft: { name: 'process, without cgroups', options: process('shared', false) },
  docker: { name: 'docker', options: { isolation: 'docker' }, slow: true },
  gvisor: { name: 'gvisor', options: { isolation: 'gvisor' }, slow: true },
} as const satisfies Record<string, Target>;

export const requireAll = (): boolean => globalThis.process.env.HOTCELL_TEST_REQUIRE === 'all';

const reasons = new Map<TargetName, Promise<string | undefined>>();

/** Why a target cannot be tried here, or nothing. Where every driver is required, that is a failure. A process asks once: a trial takes up to a second. */
export function reasonToSkip(target: Target): Promise<string | undefined> {
  const known = reasons.get(target.name) ?? tryTarget(target);
  reasons.set(target.name, known);
  return known;
}

async function tryTarget(target: Target): Promise<string | undefined> {
  if (target.bare === true) return undefined;
  await using hotcell = await openHotcell({ ...target.options, poolSize: 0 });
  const probes = await hotcell.probe(target.options.isolation as 'process');
  const probe = probes[0];
  if (probe === undefined || probe.available) return undefined;
  const reason = `${target.name} cannot be tried here: ${probe.reason} → ${probe.remedy}`;
  if (requireAll()) throw new Error(reason);
  return reason;
}

export async function openTarget(target: Target, options: HotcellOptions = {}): Promise<Hotcell> {
  const preloads = target.preloads === true ? {} : { preloads: [] };
  const drivers = withGrace(target);
  return openHotcell({ ...target.options, drivers, poolSize: 0, ...preloads, recipes: recipes(), ...options });
}

/** Makes the driver of a target. */
export function driverFactory({ options }: Target): (host: Host) => Promise<Driver> {
  const name = options.isolation as DriverName;
  return options.drivers?.[name] ?? DRIVERS[name].create;
}

/** The target's driver, which tells every guest the target's grace. */
function withGrace(target: Target): DriverFactories {
  const { options, interruptGraceMs } = target;
  const make = driverFactory(target);
  const factory = async (host: Host): Promise<Driver> => {
    const driver = await make(host);
    return { ...driver, create: (spec, given) => driver.create({ ...spec, interruptGraceMs }, given) };
  };
  return { [options.isolation as DriverName]: factory };
}

function recipes() {
  return TEST_RECIPES.map((recipe) => recipeSchema.parse(recipe));
}
