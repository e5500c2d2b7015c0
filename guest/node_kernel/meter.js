import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** What an execution used: processor time of this process and of its children that ended, and the peak of its memory. */
export function createMeter() {
  let before = 0;
  return {
    begin() {
      resetPeakMemory();
      before = cpuMs();
    },
    read() {
      return {
        cpuMs: Math.max(0, Math.round((cpuMs() - before) * 1000) / 1000),
        peakMemoryBytes: process.resourceUsage().maxRSS * 1024,
      };
    },
  };
}

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + childrenCpuMs();
}

function childrenCpuMs() {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ((Number(fields[13]) + Number(fields[14])) * 1000) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}

function resetPeakMemory() {
  try {
    const fd = openSync('/proc/self/clear_refs', 'w');
    try {
      writeSync(fd, '5');
    } finally {
      closeSync(fd);
    }
  } catch {
    // Then the peak is that of the kernel's life.
  }
}
