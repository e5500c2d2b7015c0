/**
 * The entries of /proc that programs need, beside those of processes: numbers of memory and processors, settings of the kernel, and what belongs to the namespaces
 * of the sandbox. `cgroups` is how Java tells the two versions of cgroups apart.
 *
 * SECURITY: all others are covered in a sandbox that shares the host's kernel. `locks` carries messages between sessions, each trigger in `pressure` holds up the thread that
 * closes files for the whole host, and the rest tells of the host's disks, devices and boot. So does whatever a later kernel adds, until it is looked at.
 */
export const KEPT_PROC_ENTRIES: readonly string[] = [
  ...['self', 'thread-self', 'mounts', 'net', 'sys', 'sysvipc'],
  ...['cpuinfo', 'meminfo', 'stat', 'vmstat', 'loadavg', 'uptime', 'version', 'filesystems', 'cgroups'],
];

/** Files below the kept entries that are covered too: the id of the host's boot is the same in all of its sandboxes. */
export const COVERED_BELOW_KEPT: readonly string[] = ['sys/kernel/random/boot_id'];

/**
 * The others that Linux 6.18 has on any machine, for an engine: it covers what it is told to, on a machine that may not be this one. Without `sysrq-trigger`, which the
 * engine makes read-only, and without links.
 */
export const KNOWN_PROC_ENTRIES: readonly string[] = `
  acpi allocinfo apm asound bootconfig buddyinfo bus cmdline config.gz consoles cpu crypto devices diskstats dma driver dynamic_debug execdomains fb fs ide interrupts
  iomem ioports irq kallsyms kcore key-users keys kmsg kpagecgroup kpagecount kpageflags latency_stats lock_stat lockdep lockdep_chains lockdep_stats locks mdstat misc
  modules mtrr pagetypeinfo partitions pressure profile sched_debug schedstat scsi slabinfo softirqs swaps timer_list timer_stats tty vmallocinfo vmcore xen zoneinfo
`
  .trim()
  .split(/\s+/);
