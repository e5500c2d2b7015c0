import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY_CGROUPS = '/sys/fs/cgroup/memory';

/**
 * Limits what the sockets of a running container may hold, on a host with cgroup v1, where that is not counted as its memory. runc ignores the engine's
 * own option for it (KernelMemoryTCP), so it is written here, which takes root on the engine's host. Does nothing elsewhere: cgroup v2 counts it.
 */
export function limitSocketMemory(containerId: string, bytes: number, root = MEMORY_CGROUPS): void {
  // As the engine's two cgroup drivers name them: cgroupfs and systemd.
  for (const group of [`docker/${containerId}`, `system.slice/docker-${containerId}.scope`]) {
    try {
      writeFileSync(join(root, group, 'memory.kmem.tcp.limit_in_bytes'), String(bytes), { flag: 'r+' });
    } catch {
      // Another cgroup version, another host, or not root.
    }
  }
}
