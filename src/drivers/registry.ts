import type { DriverDeclaration } from '../sandbox/declaration.ts';
import type { Driver } from '../sandbox/driver.ts';
import type { Host } from '../sandbox/host.ts';
import type { DriverName } from '../sandbox/isolation.ts';
import { dockerDeclaration } from './docker/declaration.ts';
import { gvisorDeclaration } from './gvisor/declaration.ts';
import { processDeclaration } from './process/declaration.ts';

export interface RegisteredDriver extends DriverDeclaration {
  create(host: Host): Promise<Driver>;
}

/** All drivers, each loaded on first use: importing a vendor's library takes longer than opening a session. */
export const DRIVERS: Readonly<Record<DriverName, RegisteredDriver>> = {
  process: {
    ...processDeclaration,
    create: async (host) => (await import('./process/index.ts')).createProcessDriver(host),
  },
  docker: {
    ...dockerDeclaration,
    create: async (host) => (await import('./docker/index.ts')).createDockerDriver(host),
  },
  gvisor: {
    ...gvisorDeclaration,
    create: async (host) => (await import('./gvisor/index.ts')).createGvisorDriver(host),
  },
};
