import type { Driver } from '../../sandbox/driver.ts';
import type { Host } from '../../sandbox/host.ts';
import type { ContainerRuntime } from '../docker/container-config.ts';
import { type ContainerDriverOptions, createContainerDriver } from '../docker/container-driver.ts';
import { runtimeName } from './daemon-config.ts';
import { gvisorDeclaration } from './declaration.ts';

const MiB = 1_048_576;

/** Memory and threads that gVisor's own kernel needs beside the sandbox; measured, see docs/drivers/gvisor.md. */
export const gvisorRuntime: ContainerRuntime = {
  name: runtimeName,
  ownKernel: {
    memoryRoomBytes: ({ memoryBytes }) => 256 * MiB + Math.floor(memoryBytes / 8),
    threadRoom: ({ processes }) => 1024 + 3 * processes,
  },
};

/** Level 3: the docker driver's containers under a second kernel. */
export function createGvisorDriver(host: Host, options: Partial<ContainerDriverOptions> = {}): Driver {
  return createContainerDriver(host, { name: 'gvisor', ...gvisorDeclaration, runtime: gvisorRuntime, ...options });
}
