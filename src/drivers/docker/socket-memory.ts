import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY_CGROUPS = '/sys/fs/cgroup/memory';

/**
 * Limits the socket memory of a running container on a host with cgroup v1, where it does not count as memory of the
 * container. runc ignores the engine's option for it (KernelMemoryTCP), so the limit is written here, which needs root
 * on the engine's host. Does nothing elsewhere: cgroup v2 counts socket memory.
 */
export function limitSocketMemory(containerId: string, bytes: number, root = MEMORY_CGROUPS): void {
  // The names that the engine's two cgroup drivers use: cgroupfs and systemd.
  for (const group of [`docker/${containerId}`, `system.slice/docker-${containerId}.scope`]) {
    try {
      writeFileSync(join(root, group, 'memory.kmem.tcp.limit_in_bytes'), String(bytes), { flag: 'r+' });
    } catch {
      // Another cgroup version, another host, or not root: there is no such file, or no permission.
    }
  }
}
