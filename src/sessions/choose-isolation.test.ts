import { describe, expect, test } from 'vitest';
import { DRIVERS } from '../drivers/registry.ts';
import { type OfferedDriver, strongestFirst } from '../sandbox/declaration.ts';
import type { Driver, Probe } from '../sandbox/driver.ts';
import type { DriverName, LimitEnforcement } from '../sandbox/isolation.ts';
import { chooseIsolation } from './choose-isolation.ts';

test('the strongest comes first', () => {
  expect(strongestFirst(DRIVERS)).toEqual(['gvisor', 'docker', 'process']);
});

test('auto takes the strongest driver that works, and tries no other', async () => {
  const { drivers, probed } = host({ gvisor: true, docker: true, process: true });
  const { driver, passedOver } = await chooseIsolation(drivers, 'auto', 'process');
  expect(driver.name).toBe('gvisor');
  expect(passedOver).toEqual([]);
  expect(probed).toEqual(['gvisor']);
});

test('auto takes the sandbox that was created for the trial, and creates no other', async () => {
  const { drivers, probed } = host({ gvisor: true, docker: true });
  const made: string[] = [];
  const attempt = async ({ name }: Driver) => made.push(name);
  expect((await chooseIsolation(drivers, 'auto', 'process', { attempt })).driver.name).toBe('gvisor');
  expect([made, probed]).toEqual([['gvisor'], []]);
});

test('auto passes over a driver only if its probe fails, not because the request fails', async () => {
  const { drivers, probed } = host({ docker: true, process: true });
  const attempt = () => Promise.reject(new Error('no sandbox has that much memory'));
  const { driver, passedOver } = await chooseIsolation(drivers, 'auto', 'process', { attempt });
  expect([driver.name, passedOver.map((one) => one.driver), probed]).toEqual([
    'docker',
    ['gvisor'],
    ['gvisor', 'docker'],
  ]);
});

test('auto reports the drivers that it passed over, and why', async () => {
  const { drivers } = host({ process: true });
  const { driver, passedOver } = await chooseIsolation(drivers, 'auto', 'process');
  expect(driver.name).toBe('process');
  expect(passedOver).toEqual([
    { driver: 'gvisor', reason: 'gvisor is missing', remedy: 'install gvisor' },
    { driver: 'docker', reason: 'docker is missing', remedy: 'install docker' },
  ]);
});

test('auto never tries a driver below the requested minimum', async () => {
  const { drivers, probed } = host({ process: true });
  await expect(chooseIsolation(drivers, 'auto', 'docker')).rejects.toMatchObject({
    code: 'isolation_too_weak',
    message: expect.stringContaining('gvisor is missing'),
    remedy: 'install gvisor',
  });
  expect(probed).toEqual(['gvisor', 'docker']);
});

test('auto on a host without a working driver names the remedy for the simplest one', async () => {
  const { drivers } = host({});
  await expect(chooseIsolation(drivers, 'auto', 'process')).rejects.toMatchObject({
    code: 'driver_unavailable',
    remedy: 'install process',
    data: { passedOver: { length: 3 } },
  });
});

test('a named driver is taken without a trial: its own error says more', async () => {
  const { drivers, probed } = host({});
  const { driver, passedOver } = await chooseIsolation(drivers, 'docker', 'process');
  expect(driver.name).toBe('docker');
  expect(passedOver).toEqual([]);
  expect(probed).toEqual([]);
});

test('a named driver that is too weak is refused before it is loaded', async () => {
  const { drivers, loaded } = host({ process: true });
  await expect(chooseIsolation(drivers, 'process', 'gvisor')).rejects.toMatchObject({
    code: 'isolation_too_weak',
    message: 'process (level 1) is weaker than the required minimum, gvisor (level 3)',
    remedy: 'Request gvisor, or lower minIsolation.',
  });
  expect(loaded).toEqual([]);
});

describe('a driver whose level depends on the host', () => {
  const both = { gvisor: [2, 4] } as const;

  test('has the level that its probe finds, so that another may be stronger', async () => {
    const weaker = host({ gvisor: 2, docker: true }, { ...both, docker: [3] });
    expect(await chooseIsolation(weaker.drivers, 'auto', 'process')).toMatchObject({
      driver: { name: 'docker' },
      level: 3,
      passedOver: [],
    });
    const stronger = host({ gvisor: 4, docker: true }, { ...both, docker: [3] });
    expect(await chooseIsolation(stronger.drivers, 'auto', 'process')).toMatchObject({
      driver: { name: 'gvisor' },
      level: 4,
    });
    expect(stronger.probed).toEqual(['gvisor']);
  });

  test('is passed over if it is too weak on this host, even if the attempt works', async () => {
    const { drivers, probed } = host({ gvisor: 2 }, { gvisor: [2, 4], docker: [3] });
    const attempt = async ({ name }: Driver) => {
      if (name !== 'gvisor') throw new Error('missing');
    };
    await expect(chooseIsolation(drivers, 'auto', 'docker', { attempt })).rejects.toMatchObject({
      code: 'isolation_too_weak',
      message: expect.stringContaining('gvisor: it reaches only level 2 on this host'),
    });
    expect(probed).toEqual(['gvisor', 'docker']);
  });

  test('is probed if it is named and its declaration does not prove that it is strong enough', async () => {
    const weak = host({ gvisor: 2 }, { gvisor: [2, 4], docker: [3] });
    await expect(chooseIsolation(weak.drivers, 'gvisor', 'docker')).rejects.toMatchObject({
      code: 'isolation_too_weak',
      message: 'gvisor (level 2) is weaker than the required minimum, docker (level 3)',
    });
    const missing = host({}, { gvisor: [2, 4], docker: [3] });
    await expect(chooseIsolation(missing.drivers, 'gvisor', 'docker')).rejects.toMatchObject({
      code: 'driver_unavailable',
    });
    const strong = host({ gvisor: 4 }, { gvisor: [2, 4], docker: [3] });
    expect((await chooseIsolation(strong.drivers, 'gvisor', 'docker')).level).toBe(4);
    expect((await chooseIsolation(strong.drivers, 'gvisor', 'process')).level).toBe(2);
    expect(strong.probed).toEqual(['gvisor']);
  });
});

/** Drivers that work or not, some at a level of this host. `levels` replaces those of the registry. */
function host(
  works: Partial<Record<DriverName, boolean | number>>,
  levels: Partial<Record<DriverName, OfferedDriver['levels']>> = {},
) {
  const loaded: DriverName[] = [];
  const probed: DriverName[] = [];
  const offer = (name: DriverName): OfferedDriver => {
    const { traits } = DRIVERS[name];
    const its = levels[name] ?? DRIVERS[name].levels;
    const level = works[name] === true ? its[0] : works[name] || undefined;
    const load = async (): Promise<Driver> => {
      loaded.push(name);
      return {
        name,
        traits,
        probe: async () => {
          probed.push(name);
          return probeOf(name, level);
        },
        create: () => Promise.reject(new Error('not in this test')),
        survivors: async () => [],
        close: async () => {},
      };
    };
    return { levels: its, traits, load };
  };
  return { drivers: { process: offer('process'), docker: offer('docker'), gvisor: offer('gvisor') }, loaded, probed };
}

function probeOf(driver: DriverName, level: number | undefined): Probe {
  if (level === undefined)
    return { driver, available: false, reason: `${driver} is missing`, remedy: `install ${driver}` };
  const limits = {} as LimitEnforcement;
  return { driver, available: true, isolation: { driver, level, shape: 'sealed', limits }, notes: [] };
}
