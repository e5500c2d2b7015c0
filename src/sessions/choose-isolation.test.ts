import { expect, test } from 'vitest';
import { DRIVERS } from '../drivers/registry.ts';
import type { Driver, Probe } from '../sandbox/driver.ts';
import type { DriverName, LimitEnforcement } from '../sandbox/isolation.ts';
import { chooseIsolation, strongestFirst } from './choose-isolation.ts';

test('the strongest comes first', () => {
  expect(strongestFirst()).toEqual(['gvisor', 'docker', 'process']);
});

test('auto takes the strongest that works and looks no further', async () => {
  const { drivers, probed } = host({ gvisor: true, docker: true, process: true });
  const { driver, passedOver } = await chooseIsolation(drivers, 'auto', 'process');
  expect(driver.name).toBe('gvisor');
  expect(passedOver).toEqual([]);
  expect(probed).toEqual(['gvisor']);
});

test('auto takes what was just made for a trial, and makes no other', async () => {
  const { drivers, probed } = host({ gvisor: true, docker: true });
  const made: string[] = [];
  const attempt = async ({ name }: Driver) => made.push(name);
  expect((await chooseIsolation(drivers, 'auto', 'process', { attempt })).driver.name).toBe('gvisor');
  expect([made, probed]).toEqual([['gvisor'], []]);
});

test('auto passes over nothing because of what was asked of it, only what a probe says does not work', async () => {
  const { drivers, probed } = host({ docker: true, process: true });
  const attempt = () => Promise.reject(new Error('no sandbox has that much memory'));
  const { driver, passedOver } = await chooseIsolation(drivers, 'auto', 'process', { attempt });
  expect([driver.name, passedOver.map((one) => one.driver), probed]).toEqual([
    'docker',
    ['gvisor'],
    ['gvisor', 'docker'],
  ]);
});

test('auto says what it passed over, and why', async () => {
  const { drivers } = host({ process: true });
  const { driver, passedOver } = await chooseIsolation(drivers, 'auto', 'process');
  expect(driver.name).toBe('process');
  expect(passedOver).toEqual([
    { driver: 'gvisor', reason: 'gvisor is missing', remedy: 'install gvisor' },
    { driver: 'docker', reason: 'docker is missing', remedy: 'install docker' },
  ]);
});

test('auto never goes below the least that was asked for, and does not even try it', async () => {
  const { drivers, probed } = host({ process: true });
  await expect(chooseIsolation(drivers, 'auto', 'docker')).rejects.toMatchObject({
    code: 'isolation_too_weak',
    message: expect.stringContaining('gvisor is missing'),
    remedy: 'install gvisor',
  });
  expect(probed).toEqual(['gvisor', 'docker']);
});

test('auto on a host where nothing works says what to do for the easiest', async () => {
  const { drivers } = host({});
  await expect(chooseIsolation(drivers, 'auto', 'process')).rejects.toMatchObject({
    code: 'driver_unavailable',
    remedy: 'install process',
    data: { passedOver: { length: 3 } },
  });
});

test('a driver that is named is taken without a trial: its own error says more', async () => {
  const { drivers, probed } = host({});
  const { driver, passedOver } = await chooseIsolation(drivers, 'docker', 'process');
  expect(driver.name).toBe('docker');
  expect(passedOver).toEqual([]);
  expect(probed).toEqual([]);
});

test('a driver that is named and too weak is refused before it is loaded', async () => {
  const { drivers, loaded } = host({ process: true });
  await expect(chooseIsolation(drivers, 'process', 'gvisor')).rejects.toMatchObject({
    code: 'isolation_too_weak',
    message: 'process (level 1) is weaker than the least that was asked for, gvisor (level 3)',
    remedy: 'Ask for gvisor, or lower minIsolation.',
  });
  expect(loaded).toEqual([]);
});

function host(works: Partial<Record<DriverName, boolean>>) {
  const loaded: DriverName[] = [];
  const probed: DriverName[] = [];
  const load = (name: DriverName) => async (): Promise<Driver> => {
    loaded.push(name);
    return {
      name,
      traits: DRIVERS[name].traits,
      probe: async () => {
        probed.push(name);
        return probeOf(name, works[name] === true);
      },
      create: () => Promise.reject(new Error('not in this test')),
      survivors: async () => [],
      close: async () => {},
    };
  };
  return { drivers: { process: load('process'), docker: load('docker'), gvisor: load('gvisor') }, loaded, probed };
}

function probeOf(driver: DriverName, available: boolean): Probe {
  if (!available) return { driver, available, reason: `${driver} is missing`, remedy: `install ${driver}` };
  const limits = {} as LimitEnforcement;
  return { driver, available, isolation: { driver, level: 1, shape: 'sealed', limits }, notes: [] };
}
