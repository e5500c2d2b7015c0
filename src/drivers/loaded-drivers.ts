import { setTimeout as sleep } from 'node:timers/promises';
import type { OfferedDriver, OfferedDrivers } from '../sandbox/declaration.ts';
import type { Driver } from '../sandbox/driver.ts';
import type { Host } from '../sandbox/host.ts';
import { DRIVER_NAMES, type DriverName } from '../sandbox/isolation.ts';
import { DRIVERS } from './registry.ts';

export type DriverFactories = Readonly<Partial<Record<DriverName, (host: Host) => Promise<Driver>>>>;

/** A driver is loaded to start a sandbox: its first programs are started before survivors are looked for. */
const CLEAR_AFTER_MS = 60;

/** The drivers of one Hotcell. Each is created once, on first use. */
export interface LoadedDrivers {
  readonly offered: OfferedDrivers;
  settled(): Promise<void>;
  close(): Promise<void>;
}

/**
 * `given` replaces registered drivers. Each driver disposes of its survivors in the background; `afterClearing` runs
 * after that.
 */
export function loadDrivers(host: Host, given: DriverFactories, afterClearing: () => Promise<void>): LoadedDrivers {
  const loaded = new Map<DriverName, Promise<Driver>>();
  const clearing: Promise<void>[] = [];
  const closed = new AbortController();

  async function clear(driver: Driver): Promise<void> {
    await sleep(CLEAR_AFTER_MS, undefined, { signal: closed.signal }).catch(() => {});
    // A survivor that cannot be disposed of must not stop the cleanup of the others, or of the folders of dead servers.
    for (const survivor of await driver.survivors().catch(() => [])) await survivor.dispose().catch(() => {});
    await afterClearing();
  }

  function load(name: DriverName): Promise<Driver> {
    const known = loaded.get(name);
    if (known !== undefined) return known;
    const loading = (given[name] ?? DRIVERS[name].create)(host).then((driver) => {
      // The next server finds and retries leftovers.
      clearing.push(clear(driver).catch(() => {}));
      return driver;
    });
    loaded.set(name, loading);
    return loading;
  }

  return {
    offered: Object.fromEntries(
      DRIVER_NAMES.map((name): [DriverName, OfferedDriver] => {
        const { levels, traits } = DRIVERS[name];
        return [name, { levels, traits, load: () => load(name) }];
      }),
    ) as OfferedDrivers,
    settled: async () => {
      for (const loading of loaded.values()) await (await loading.catch(() => undefined))?.settled?.();
    },
    close: async () => {
      closed.abort();
      await Promise.all(clearing);
      for (const loading of loaded.values()) await (await loading.catch(() => undefined))?.close();
    },
  };
}
