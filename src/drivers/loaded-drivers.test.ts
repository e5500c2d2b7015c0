import { expect, it } from 'vitest';
import type { Driver, Survivor } from '../sandbox/driver.ts';
import type { Host } from '../sandbox/host.ts';
import { loadDrivers } from './loaded-drivers.ts';

const host = {} as Host;

function driverWith(survivors: () => Promise<Survivor[]>): Driver {
  return { name: 'process', survivors, close: async () => {} } as unknown as Driver;
}

it('clears the other survivors if one cannot be disposed of', async () => {
  const cleared: string[] = [];
  const survivor = (id: string, dispose: () => Promise<void>) => ({ id, serverId: 'x', dispose });
  const driver = driverWith(async () => [
    survivor('another user has it', async () => {
      throw Object.assign(new Error('EPERM'), { code: 'EPERM' });
    }),
    survivor('ours', async () => void cleared.push('ours')),
  ]);
  const drivers = loadDrivers(host, { process: async () => driver }, async () => void cleared.push('folders'));
  await drivers.offered.process.load();
  await drivers.close();
  expect(cleared).toEqual(['ours', 'folders']);
});

it('clears folders if the survivors cannot be listed', async () => {
  const cleared: string[] = [];
  const driver = driverWith(() => Promise.reject(new Error('the engine does not answer')));
  const drivers = loadDrivers(host, { process: async () => driver }, async () => void cleared.push('folders'));
  await drivers.offered.process.load();
  await drivers.close();
  expect(cleared).toEqual(['folders']);
});
