import type { Driver } from '../../sandbox/driver.ts';
import type { Host } from '../../sandbox/host.ts';
export function createDockerDriver(_host: Host): Driver {
  throw new Error('soon');
}
