import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process as the host sees it. */
export interface HostProcess {
  readonly pid: number;
  readonly parent: number;
  readonly state: string;
  /** When it began, in ticks since the boot: with the pid, what tells it from a later one of the same number. */
  readonly startedAt: string;
  readonly command: string;
  /** Its pid in each namespace, the host's first. */
  readonly namespacePids: readonly number[];
}

/** The parts of one sandbox of the process driver, by their pids on the host. */
export interface SandboxProcesses {
  /** bubblewrap, outside of the jail. With it goes everything inside. */
  readonly jail: number;
  /** pid 1 of the session. */
  readonly supervisor: number;
  readonly kernel: number | undefined;
  /** When the supervisor began, in ticks since the boot. Numbers of processes begin anew when they are used up. */
  readonly startedAt: number;
  /** It has given up its rights. What a zygote keeps ahead has them still, and so has a jail that bubblewrap is building. */
  readonly closedIn: boolean;
}

export function hostProcesses(): HostProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => describeProcess(Number(name)) ?? []);
}

export function descendantsOf(pid: number, table = hostProcesses()): HostProcess[] {
  const children = table.filter(({ parent }) => parent === pid);
  return children.flatMap((child) => [child, ...descendantsOf(child.pid, table)]);
}

/** The sandboxes below a server. In the shared shape a session's pid 1 lies one namespace below that of the zygote. */
export function sandboxesBelow(server: number, shape: 'shared' | 'single'): SandboxProcesses[] {
  const table = hostProcesses();
  const depth = shape === 'shared' ? 3 : 2;
  const jails = table.filter(({ parent, command }) => parent === server && /(^|\/)bwrap /.test(command));
  return jails.flatMap(({ pid: jail }) =>
    descendantsOf(jail, table)
      .filter(({ namespacePids }) => namespacePids.length === depth && namespacePids.at(-1) === 1)
      .map(({ pid: supervisor, startedAt }) => ({
        jail,
        supervisor,
        startedAt: Number(startedAt),
        kernel: table.find(({ parent, state }) => parent === supervisor && state !== 'Z')?.pid,
        closedIn: /^CapEff:\s+0+$/m.test(readOrNothing(`/proc/${supervisor}/status`)),
      })),
  );
}

/** Gone, or only waiting to be reaped. */
export function hasEnded(pid: number): boolean {
  const state = describeProcess(pid)?.state;
  return state === undefined || state === 'Z' || state === 'X';
}

/** Processes that show one of `marks` in their command line, among their mounts, or in their cgroup's name. */
export function processesTouching(marks: readonly string[]): HostProcess[] {
  return hostProcesses().filter(({ pid, command, state }) => {
    if (pid === process.pid || state === 'Z') return false;
    const traces = [command, readOrNothing(`/proc/${pid}/mountinfo`), readOrNothing(`/proc/${pid}/cgroup`)];
    return marks.some((mark) => traces.some((trace) => trace.includes(mark)));
  });
}

/** The open descriptors of this process, without what differs from one to the next of a kind. */
export function openDescriptors(): string[] {
  return readdirSync('/proc/self/fd')
    .flatMap((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).replace(/:\[\d+\]$/, '');
      } catch {
        return []; // the one that lists them
      }
    })
    .filter((target) => !target.startsWith('/proc/'))
    .sort();
}

/** What the host tells nobody by an event is looked for until it is so. Says how long that took. The limit is for what never comes, on a busy machine. */
export async function until(isSo: () => boolean, what: string, limitMs = 20_000): Promise<number> {
  const startedAt = performance.now();
  while (!isSo()) {
    if (performance.now() - startedAt > limitMs) throw new Error(`not so within ${limitMs} ms: ${what}`);
    await sleep(5);
  }
  return performance.now() - startedAt;
}

function describeProcess(pid: number): HostProcess | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const spaces = readFileSync(`/proc/${pid}/status`, 'latin1').match(/^NSpid:\s+(.*)$/m)?.[1] ?? '';
    return {
      pid,
      parent: Number(fields[1]),
      state: fields[0] ?? '',
      startedAt: fields[19] ?? '',
      command: readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' '),
      namespacePids: spaces.trim().split(/\s+/).map(Number),
    };
  } catch {
    return undefined; // it ended meanwhile
  }
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
