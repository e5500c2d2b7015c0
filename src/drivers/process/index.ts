import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { aborted } from '../../lib/abort.ts';
import { deferred } from '../../lib/deferred.ts';
import { findProgram } from '../../lib/find-program.ts';
import { newId } from '../../lib/ids.ts';
import type { CreateOptions, Driver, Sandbox, SandboxEnd } from '../../sandbox/driver.ts';
import { type GuestConfig, standardEnvironment } from '../../sandbox/guest-config.ts';
import type { Host } from '../../sandbox/host.ts';
import { ISOLATION_LEVELS, type Isolation } from '../../sandbox/isolation.ts';
import { type Architecture, seccompFilter } from '../../sandbox/seccomp.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';
import { singleJailArguments } from './bwrap-arguments.ts';
import { type Cgroup, type CgroupFinding, findCgroupTree, removeCgroupsNamed } from './cgroup.ts';
import { enforcement } from './enforcement.ts';
import { createForkSource, type ForkSource } from './fork-source.ts';
import { jailIdentity } from './jail-identity.ts';
import { prepareJailLayout } from './jail-layout.ts';
import { type JailProcess, killQuietly, startJail } from './jail-process.ts';
import { NODE_FOLDER } from './node-runtime.ts';
import { orphanedJails } from './orphans.ts';
import { probeProcess } from './probe.ts';
import { findPythonEnvironment, type PythonEnvironment } from './python-environment.ts';
import { pidInJail } from './real-pid.ts';
import { sessionJail } from './session-jail.ts';
import { enterSandbox, startZygote, type Zygote } from './zygote.ts';

export type ProcessShape = 'shared' | 'single';

export interface ProcessDriverOptions {
  /** Which shape to build; by default `shared`, and `single` where nested namespaces are refused. */
  readonly shape?: ProcessShape;
  /** False: leave cgroups alone and use the softer limits. For hosts where they lie, and for tests. */
  readonly cgroups?: boolean;
  /** The program of Node that sandboxes get; by default the one that runs Hotcell. */
  readonly node?: string;
}

/** How long the end of a zygote may be heard after the end of what it was about to make. */
const ZYGOTE_END_MS = 250;

/** Level 1: bubblewrap, namespaces, seccomp and cgroups on this host's own kernel. */
export function createProcessDriver(host: Host, options: ProcessDriverOptions = {}): Driver {
  return new ProcessDriver(host, options);
}

class ProcessDriver implements Driver {
  readonly name = 'process';
  readonly #host: Host;
  readonly #options: ProcessDriverOptions;
  readonly #zygotes = new Map<string, Promise<Zygote>>();
  readonly #forks = new Map<Zygote, ForkSource>();
  readonly #sandboxes = new Set<Sandbox>();
  #cgroups: CgroupFinding | undefined;
  #environment: Promise<PythonEnvironment> | undefined;
  #shape: ProcessShape | undefined;

  constructor(host: Host, options: ProcessDriverOptions) {
    this.#host = host;
    this.#options = options;
    this.#shape = options.shape;
  }

  probe(options: { signal?: AbortSignal } = {}) {
    return probeProcess(this, () => this.#cgroupFinding(), options);
  }

  async create(spec: SandboxSpec, { signal, warm = false }: CreateOptions = {}): Promise<Sandbox> {
    const environment = await this.#pythonEnvironment();
    if (this.#shape === 'single') return this.#createSingle(spec, environment, signal);
    try {
      const sandbox = await this.#createShared(spec, environment, warm, signal);
      this.#shape = 'shared';
      return sandbox;
    } catch (error) {
      // Only what says that this host refuses nested namespaces may change the shape, and only before one has worked.
      if (this.#shape !== undefined || !isRefusal(error)) throw error;
      this.#shape = 'single';
      return this.#createSingle(spec, environment, signal);
    }
  }

  /** Processes die with their server (bubblewrap's --die-with-parent); folders and cgroups may stay. */
  async survivors() {
    const { installationId, isServerAlive } = this.#host;
    const prefix = cgroupName(installationId, '');
    const orphans = await orphanedJails(installationId, isServerAlive);
    await removeCgroupsNamed(
      async (name) => name.startsWith(prefix) && !(await isServerAlive(name.slice(prefix.length))),
    );
    return orphans.map(({ pid, serverId }) => ({
      id: `jail-${pid}`,
      serverId,
      dispose: async () => killQuietly(pid),
    }));
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#forks.values()].map((source) => source.settled()));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sandboxes].map((sandbox) => sandbox.dispose()));
    await Promise.all([...this.#forks.values()].map((source) => source.close()));
    const zygotes = await Promise.allSettled(this.#zygotes.values());
    this.#zygotes.clear();
    await Promise.all(zygotes.map((result) => (result.status === 'fulfilled' ? result.value.close() : undefined)));
    if (this.#cgroups !== undefined && 'tree' in this.#cgroups) await this.#cgroups.tree.remove();
    this.#cgroups = undefined;
    await rm(join(this.#host.runDir, 'jails'), { recursive: true, force: true });
  }

  async #createShared(
    spec: SandboxSpec,
    environment: PythonEnvironment,
    warm: boolean,
    signal?: AbortSignal,
  ): Promise<Sandbox> {
    const zygote = await this.#zygoteFor(spec, environment);
    try {
      return await this.#forkSandbox(zygote, spec, environment, warm, signal);
    } catch (error) {
      // Nothing of the caller's has run yet: a sandbox whose zygote was killed under it is made by another.
      const ended = await Promise.race([zygote.ended.then(() => true), sleep(ZYGOTE_END_MS, false)]);
      if (!ended || signal?.aborted === true) throw error;
      return this.#forkSandbox(await this.#zygoteFor(spec, environment), spec, environment, warm, signal);
    }
  }

  async #forkSandbox(
    zygote: Zygote,
    spec: SandboxSpec,
    environment: PythonEnvironment,
    warm: boolean,
    signal?: AbortSignal,
  ): Promise<Sandbox> {
    if (warm) await Promise.race([zygote.warm, zygote.ended, aborted(signal)]);
    const placed = await this.#forksOf(zygote).take(signal);
    const { fork, cgroup } = placed;
    try {
      cgroup?.limit(spec.limits);
      const config = this.#guestConfig(spec, environment, 'shared');
      await enterSandbox(fork, { jail: sessionJail(spec), config }, placed.place(), signal);
      return this.#track(spec, environment, 'shared', cgroup, fork.channel, {
        kill: () => killIfSame(fork.pid, fork.jailPid),
        gone: () => gone(fork.pid, fork.jailPid),
      });
    } catch (error) {
      await placed.discard();
      throw error;
    }
  }

  #forksOf(zygote: Zygote): ForkSource {
    let source = this.#forks.get(zygote);
    if (source === undefined) {
      source = createForkSource(zygote, () => this.#makeCgroup());
      this.#forks.set(zygote, source);
      const { close } = source;
      void zygote.ended.then(() => {
        this.#forks.delete(zygote);
        return close();
      });
    }
    return source;
  }

  async #createSingle(spec: SandboxSpec, environment: PythonEnvironment, signal?: AbortSignal): Promise<Sandbox> {
    signal?.throwIfAborted();
    const layout = await prepareJailLayout(this.#host, environment, spec, this.#options.node);
    const cgroup = this.#makeCgroup();
    cgroup?.limit(spec.limits);
    const filter = this.#filterFile();
    try {
      const jail = await startJail(requireBwrap(), singleJailArguments(layout, sessionJail(spec), 5), jailIdentity(), [
        filter,
      ]);
      await cgroup?.add(jail.pid).catch(() => endedEarly(jail));
      return this.#track(spec, environment, 'single', cgroup, jail.socket, {
        kill: () => jail.kill(),
        gone: async () => {
          await jail.ended;
        },
      });
    } catch (error) {
      await cgroup?.remove();
      throw error;
    } finally {
      closeSync(filter);
    }
  }

  /** bubblewrap reads the outer filter from a descriptor. */
  #filterFile(): number {
    const path = join(this.#host.runDir, 'seccomp.bpf');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, seccompFilter(process.arch as Architecture));
    return openSync(path, 'r');
  }

  #track(
    spec: SandboxSpec,
    environment: PythonEnvironment,
    shape: ProcessShape,
    cgroup: Cgroup | undefined,
    channel: Sandbox['channel'],
    process: { kill(): void; gone(): Promise<void> },
  ): Sandbox {
    const ended = deferred<SandboxEnd>();
    let disposal: Promise<void> | undefined;
    const dispose = () => {
      disposal ??= (async () => {
        process.kill();
        channel.destroy();
        await process.gone();
        await cgroup?.remove();
        this.#sandboxes.delete(sandbox);
        ended.resolve({ kind: 'disposed' });
      })();
      return disposal;
    };
    const sandbox: Sandbox = {
      id: spec.id,
      isolation: this.#isolation(shape, spec),
      channel,
      guestConfig: this.#guestConfig(spec, environment, shape),
      ended: ended.promise,
      usage: async () => {
        const memoryBytes = cgroup?.memoryBytes();
        return cgroup === undefined
          ? {}
          : { memoryKills: cgroup.memoryKills(), ...(memoryBytes === undefined ? {} : { memoryBytes }) };
      },
      dispose,
    };
    channel.once('close', () => {
      const killed = (cgroup?.memoryKills() ?? 0) > 0;
      if (disposal === undefined) {
        ended.resolve(killed ? { kind: 'out-of-memory' } : { kind: 'exited', detail: 'its processes ended' });
      }
      dispose().catch(() => {});
    });
    this.#sandboxes.add(sandbox);
    return sandbox;
  }

  #isolation(shape: ProcessShape, spec: SandboxSpec): Omit<Isolation, 'passedOver'> {
    const version = this.#cgroupVersion();
    return { driver: 'process', level: ISOLATION_LEVELS.process, shape, limits: enforcement(version, spec) };
  }

  #guestConfig(spec: SandboxSpec, environment: PythonEnvironment, shape: ProcessShape): GuestConfig {
    const { memoryBytes, openFiles, fileBytes, cpus, processes } = spec.limits;
    const soft = this.#cgroupVersion() === undefined;
    return {
      limits: {
        ...{ memoryBytes, openFiles, fileBytes, cpus },
        ...(soft ? { pinCpus: true, processes, memoryWatchdogBytes: memoryBytes } : {}),
      },
      preloads: shape === 'single' ? spec.preloads : [],
      environment: jailEnvironment(environment, spec),
      ...(shape === 'single' ? {} : { seccomp: seccompFilter(process.arch as Architecture).toString('base64') }),
    };
  }

  #zygoteFor(spec: SandboxSpec, environment: PythonEnvironment): Promise<Zygote> {
    const key = JSON.stringify([spec.owner, spec.mounts, spec.preloads, spec.workspace]);
    const present = this.#zygotes.get(key);
    if (present !== undefined) return present;
    const starting = this.#startZygote(spec, environment);
    this.#zygotes.set(key, starting);
    const forget = () => {
      if (this.#zygotes.get(key) === starting) this.#zygotes.delete(key);
    };
    starting.then((zygote) => zygote.ended.then(forget), forget);
    return starting;
  }

  async #startZygote(spec: SandboxSpec, environment: PythonEnvironment): Promise<Zygote> {
    return startZygote({
      bwrap: requireBwrap(),
      layout: await prepareJailLayout(this.#host, environment, spec, this.#options.node),
      identity: jailIdentity(),
      runDir: join(this.#host.runDir, 'jails'),
      environment: jailEnvironment(environment, spec),
      preloads: spec.preloads,
    });
  }

  async #pythonEnvironment(): Promise<PythonEnvironment> {
    this.#environment ??= findPythonEnvironment({ dataDir: this.#host.dataDir }).then((found) => {
      if (found !== undefined) return found;
      this.#environment = undefined;
      throw new HotcellError('driver_unavailable', 'process: there is no Python that sandboxes could run', {
        remedy: 'Run `hotcell setup process`.',
      });
    });
    return this.#environment;
  }

  #cgroupFinding(): CgroupFinding {
    this.#cgroups ??=
      this.#options.cgroups === false
        ? { reason: 'cgroups are switched off', remedy: 'Switch them on in the configuration.' }
        : findCgroupTree(cgroupName(this.#host.installationId, this.#host.serverId));
    return this.#cgroups;
  }

  #cgroupVersion(): 'v1' | 'v2' | undefined {
    const finding = this.#cgroupFinding();
    return 'tree' in finding ? finding.tree.version : undefined;
  }

  #makeCgroup(): Cgroup | undefined {
    const finding = this.#cgroupFinding();
    return 'tree' in finding ? finding.tree.create(newId('g')) : undefined;
  }
}

function cgroupName(installationId: string, serverId: string): string {
  return `hotcell-${installationId}-${serverId}`;
}

function jailEnvironment(environment: PythonEnvironment, spec: SandboxSpec): Record<string, string> {
  return standardEnvironment({
    path: [`${NODE_FOLDER}/bin`, dirname(environment.python), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
    cpus: spec.limits.cpus,
    extra: spec.environment,
  });
}

function requireBwrap(): string {
  const found = findProgram('bwrap');
  if (found !== undefined) return found;
  throw new HotcellError('driver_unavailable', 'process: bubblewrap (bwrap) is not installed', {
    remedy: 'Run `hotcell setup process`, or install it: sudo apt-get install -y bubblewrap',
  });
}

/** A process that cannot be put into a group is gone already. */
async function endedEarly(jail: JailProcess): Promise<never> {
  jail.kill();
  jail.socket.destroy();
  throw new HotcellError('start_failed', `the jail ended before it began: ${await jail.ended}`, {
    remedy: 'Run `hotcell doctor` to see what this host refuses.',
  });
}

/** EPERM, EACCES, EINVAL, ENOSPC (no user namespaces left to give) and ENOSYS; anything else may pass. */
const REFUSALS = [1, 13, 22, 28, 38];

/** A step of closing the sandbox in that this host refused: the sign that its shape cannot be built here. */
function isRefusal(error: unknown): boolean {
  return error instanceof HotcellError && error.code === 'start_failed' && REFUSALS.includes(Number(error.data.errno));
}

/** SECURITY: a pid may have been given to another process since; only one that is still in our jail under the same number is ours to kill. */
function killIfSame(pid: number, jailPid: number): void {
  if (pidInJail(pid) === jailPid) killQuietly(pid);
}

/** The end of a namespace's pid 1 is the end of everything in it, and the kernel lets it be seen only after that. */
async function gone(pid: number, jailPid: number): Promise<void> {
  for (let attempt = 0; attempt < 2_000 && pidInJail(pid) === jailPid; attempt += 1) {
    await sleep(attempt < 50 ? 1 : 5);
  }
}
