import { readFileSync } from 'node:fs';

/** The memory that the host can give without swapping; infinite if it is unknown. */
export function availableBytes(): number {
  try {
    const line = readFileSync('/proc/meminfo', 'utf8').match(/^MemAvailable:\s+(\d+)/m);
    return line === null ? Number.POSITIVE_INFINITY : Number(line[1]) * 1024;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
