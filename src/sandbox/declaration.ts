import type { Driver } from './driver.ts';
import type { DriverName } from './isolation.ts';
import type { DriverTraits } from './traits.ts';

/** The properties of a driver that are known before it is loaded. */
export interface DriverDeclaration {
  /**
   * Possible levels of isolation. A driver has one, unless the host decides it, like the RuntimeClass of a cluster;
   * then the probe and each sandbox report the actual level.
   */
  readonly levels: readonly [number, ...number[]];
  readonly traits: DriverTraits;
}

export type DriverDeclarations = Readonly<Record<DriverName, DriverDeclaration>>;

/** A driver that can be chosen. It is loaded only when its declaration is not enough. */
export interface OfferedDriver extends DriverDeclaration {
  load(): Promise<Driver>;
}

export type OfferedDrivers = Readonly<Record<DriverName, OfferedDriver>>;

/** The drivers that have a trait, weakest first. */
export function driversWith(trait: keyof DriverTraits, declared: DriverDeclarations): DriverName[] {
  return strongestFirst(declared)
    .reverse()
    .filter((name) => declared[name].traits[trait]);
}

/** The minimum level of all sandboxes of a driver. In `minIsolation`, the name of a driver means this level. */
export function leastLevel({ levels }: Pick<DriverDeclaration, 'levels'>): number {
  return Math.min(...levels);
}

/** The maximum level of a driver's sandboxes. */
export function mostLevel({ levels }: Pick<DriverDeclaration, 'levels'>): number {
  return Math.max(...levels);
}

/** Sorts drivers by their maximum level, then by their minimum. */
export function strongestFirst(declared: DriverDeclarations): DriverName[] {
  return namesOf(declared).sort(
    (a, b) => mostLevel(declared[b]) - mostLevel(declared[a]) || leastLevel(declared[b]) - leastLevel(declared[a]),
  );
}

/** Whether the name of a driver in `minIsolation` excludes nothing. */
export function isWeakest(name: DriverName, declared: DriverDeclarations): boolean {
  return namesOf(declared).every((other) => leastLevel(declared[name]) <= leastLevel(declared[other]));
}

function namesOf(declared: DriverDeclarations): DriverName[] {
  return Object.keys(declared) as DriverName[];
}
