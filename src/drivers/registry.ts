import type { Driver } from '../sandbox/driver.ts';
import type { Host } from '../sandbox/host.ts';
import type { DriverName } from '../sandbox/isolation.ts';

/** Every driver, loaded when it is first asked for: a vendor's library costs more to import than a session to open. */
export const DRIVERS: Readonly<Record<DriverName, (host: Host) => Promise<Driver>>> = {
  process: async (host) => (await import('./process/index.ts')).createProcessDriver(host),
  docker: async (host) => (await import('./docker/index.ts')).createDockerDriver(host),
  gvisor: async (host) => (await import('./gvisor/index.ts')).createGvisorDriver(host),
};
