import type { Driver } from '../../sandbox/driver.ts';
import type { Host } from '../../sandbox/host.ts';
import { type ContainerDriverOptions, createContainerDriver } from './container-driver.ts';
import { dockerDeclaration } from './declaration.ts';

/** Level 2: sealed containers of the engine's default runtime, on the engine's kernel. */
export function createDockerDriver(host: Host, options: Partial<ContainerDriverOptions> = {}): Driver {
  return createContainerDriver(host, { name: 'docker', ...dockerDeclaration, runtime: {}, ...options });
}
