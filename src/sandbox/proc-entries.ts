/**
 * The entries of /proc that programs need, besides those of processes: figures of memory and processors, kernel
 * settings, and entries of the sandbox's own namespaces. Java reads `cgroups` to tell the two versions of cgroups
 * apart.
 *
 * SECURITY: all others are masked in a sandbox that shares the host's kernel. `locks` is a covert channel between
 * sessions, each trigger in `pressure` blocks the thread that closes files for the whole host, and the others reveal
 * the host's disks, devices and boot. New entries of later kernels are masked until they are reviewed.
 */
export const KEPT_PROC_ENTRIES: readonly string[] = [
  ...['self', 'thread-self', 'mounts', 'net', 'sys', 'sysvipc'],
  ...['cpuinfo', 'meminfo', 'stat', 'vmstat', 'loadavg', 'uptime', 'version', 'filesystems', 'cgroups'],
];

/** Files below the kept entries that are masked too: the host's boot id would identify all of its sandboxes. */
export const COVERED_BELOW_KEPT: readonly string[] = ['sys/kernel/random/boot_id'];

/**
 * The other entries of Linux 6.18 on any machine, for an engine: it masks a given list, on a machine that may not be
 * this one. Links are left out, and `sysrq-trigger`, which the engine makes read-only.
 */
export const KNOWN_PROC_ENTRIES: readonly string[] = `
  acpi allocinfo apm asound bootconfig buddyinfo bus cmdline config.gz consoles cpu crypto devices diskstats dma driver dynamic_debug execdomains fb fs ide interrupts
  iomem ioports irq kallsyms kcore key-users keys kmsg kpagecgroup kpagecount kpageflags latency_stats lock_stat lockdep lockdep_chains lockdep_stats locks mdstat misc
  modules mtrr pagetypeinfo partitions pressure profile sched_debug schedstat scsi slabinfo softirqs swaps timer_list timer_stats tty vmallocinfo vmcore xen zoneinfo
`
  .trim()
  .split(/\s+/);
