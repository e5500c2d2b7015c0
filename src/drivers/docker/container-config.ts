import { cpus } from 'node:os';
import type { ContainerCreateOptions } from 'dockerode';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { COVERED_BELOW_KEPT, KNOWN_PROC_ENTRIES } from '../../sandbox/proc-entries.ts';
import {
  type Bind,
  inodesOf,
  type Limits,
  type Mount,
  type SandboxSpec,
  scratchBytesOf,
  tmpBytesOf,
  WORKSPACE,
} from '../../sandbox/spec.ts';
import { LISTEN_ARGUMENTS } from '../pipe-guest/relay.ts';
import { type ContainerLayers, layerBinds, layerPlaces } from './container-layers.ts';
import { COMMON_USER, type ContainerUser } from './container-user.ts';
import type { ImageDescription } from './engine-image.ts';
import { seccompProfile } from './seccomp-profile.ts';

/** The differences between container runtimes. */
export interface ContainerRuntime {
  /** The name of the runtime in the engine; the engine's default when absent. */
  readonly name?: string;
  /**
   * Set for a runtime with its own kernel, such as gVisor. That kernel's memory and threads count towards the
   * container's limits on the host, so those limits leave room for it; the sandbox's own limits are enforced inside.
   */
  readonly ownKernel?: {
    memoryRoomBytes(limits: Limits): number;
    threadRoom(limits: Limits): number;
  };
}

export interface ContainerContext extends ContainerLayers {
  readonly image: string;
  readonly command: readonly string[];
  readonly runtime: ContainerRuntime;
  readonly installationId: string;
  readonly serverId: string;
  /** Paths of the mounted folders' descriptors (`mount-descriptors.ts`). Without them the folders are bound by path, and the guest compares them. */
  readonly devices?: readonly string[];
  /** The description of an image that is not Hotcell's own. */
  readonly described?: ImageDescription | undefined;
  /** The user of the container; the common user when absent. */
  readonly user?: ContainerUser;
}

export const LABELS = {
  installation: 'dev.hotcell.installation',
  server: 'dev.hotcell.server',
  owner: 'dev.hotcell.owner',
  sandbox: 'dev.hotcell.sandbox',
  persistent: 'dev.hotcell.persistent',
} as const;

/**
 * SECURITY: on cgroup v1 the limit on socket memory is set after the container has started (socket-memory.ts), and
 * sockets that a hostile image opened before that are not counted. By default each can hold megabytes of host memory.
 * Loopback throughput is the same with these sizes.
 */
const SMALL_SOCKET_BUFFERS = { 'net.ipv4.tcp_rmem': '4096 65536 262144', 'net.ipv4.tcp_wmem': '4096 16384 262144' };

/** Paths that the engine masks by default. It does not add them when a list is given. */
const MASKED_BY_ENGINE = [
  ...['/sys/firmware', '/sys/devices/virtual/powercap'],
  ...cpus().map((_, index) => `/sys/devices/system/cpu/cpu${index}/thermal_throttle`),
];
const MASKED_PATHS = [
  ...[...KNOWN_PROC_ENTRIES, ...COVERED_BELOW_KEPT].map((name) => `/proc/${name}`),
  ...MASKED_BY_ENGINE,
];

/**
 * SECURITY: without these, the engine copies the host's resolv.conf, which reveals names and addresses of its network.
 */
const NO_NAME_SERVER = { Dns: ['127.0.0.1'], DnsSearch: ['.'], DnsOptions: ['attempts:1'] };

/** An option of API version 1.41 that the type definitions lack. */
const PRIVATE_CGROUPS = { CgroupnsMode: 'private' };

export function containerName(sandboxId: string): string {
  return `hotcell-${sandboxId}`;
}

/** The configuration of a container of the shape *sealed*. It sets every option that an image could otherwise set. */
export function containerConfig(spec: SandboxSpec, context: ContainerContext): ContainerCreateOptions {
  const { limits } = spec;
  const { runtime, user = COMMON_USER } = context;
  return {
    Image: context.image,
    Entrypoint: [],
    Cmd: [
      ...context.command,
      ...(spec.workspace === undefined ? [] : ['--workspace', spec.workspace]),
      ...(spec.persistent === undefined ? [] : LISTEN_ARGUMENTS),
    ],
    User: `${user.uid}:${user.gid}`,
    WorkingDir: '/',
    Hostname: 'sandbox',
    Env: environment(context.described),
    Healthcheck: { Test: ['NONE'] },
    StopSignal: 'SIGKILL',
    Labels: {
      ...emptyLabels(context.described),
      [LABELS.installation]: context.installationId,
      [LABELS.server]: context.serverId,
      [LABELS.owner]: spec.owner,
      [LABELS.sandbox]: spec.id,
      // SECURITY: the label is always set, otherwise the image could set it.
      [LABELS.persistent]: String(spec.persistent !== undefined),
    },
    // Standard input is the channel. `StdinOnce`: when the server that holds it is gone, the guest reads end-of-file
    // and exits, unless it listens on a socket.
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    HostConfig: {
      ...PRIVATE_CGROUPS,
      ...(runtime.name === undefined ? {} : { Runtime: runtime.name }),
      NetworkMode: 'none',
      ...NO_NAME_SERVER,
      CapDrop: ['ALL'],
      SecurityOpt: securityOptions(runtime),
      // A runtime with its own kernel has its own /proc.
      ...(runtime.ownKernel === undefined ? { MaskedPaths: MASKED_PATHS } : {}),
      ReadonlyRootfs: true,
      IpcMode: 'private',
      Init: false,
      AutoRemove: false,
      RestartPolicy: { Name: 'no' },
      // SECURITY: otherwise the engine logs the channel, with the code and data of users, to disk.
      LogConfig: { Type: 'none', Config: {} },
      Tmpfs: fileSystems(spec, user, context),
      ShmSize: scratchBytesOf(limits),
      Mounts: [
        ...spec.mounts.map((mount, index) => mounted(mount, runtime, context.devices?.[index])),
        ...layerBinds(context).map(bind),
      ],
      ...(runtime.ownKernel === undefined ? { Sysctls: SMALL_SOCKET_BUFFERS } : {}),
      Memory: memoryBytes(limits, runtime),
      MemorySwap: memoryBytes(limits, runtime),
      NanoCpus: Math.round(limits.cpus * 1e9),
      PidsLimit: limits.processes + (runtime.ownKernel?.threadRoom(limits) ?? 0),
      Ulimits: ulimits(limits, runtime),
      // When the host runs out of memory, sandboxes are killed before other processes; inside a sandbox, kernels before
      // the guest.
      OomScoreAdj: 500,
    },
  };
}

/**
 * SECURITY: variables of the image affect the dynamic loader and hooks of the engine's runtime (NVIDIA's hook gives
 * devices to a container that asks by variable). The engine removes a variable that is listed by name without a value.
 */
function environment(image: ImageDescription | undefined): string[] {
  const ours = ['HOME=/tmp', 'LANG=C.UTF-8', 'NVIDIA_VISIBLE_DEVICES=void'];
  if (image === undefined) return ours;
  const set = [`PATH=${image.path}`, ...ours];
  const names = set.map((entry) => entry.split('=', 1)[0]);
  return [...set, ...image.variables.filter((name) => !names.includes(name))];
}

/**
 * SECURITY: programs on the host, such as schedulers and proxies, act on labels of containers. An empty value overrides
 * a label of the image.
 */
export function emptyLabels(image: ImageDescription | undefined): Record<string, string> {
  return Object.fromEntries((image?.labels ?? []).map((name) => [name, '']));
}

/** The engine's default AppArmor profile stays in force, because no option here replaces it. */
function securityOptions({ ownKernel }: ContainerRuntime): string[] {
  // gVisor handles system calls itself: runsc ignores the profile, and has a filter around it that the image cannot
  // reach.
  return ['no-new-privileges', ...(ownKernel === undefined ? [`seccomp=${JSON.stringify(seccompProfile())}`] : [])];
}

/** The mount points of a sandbox's in-memory file systems, and of its layers, whichever way they come. */
export function memoryPlaces(
  spec: SandboxSpec,
  context: Pick<ContainerContext, 'described' | 'hasNodeModules'>,
): string[] {
  return Object.keys(fileSystems(spec, COMMON_USER, context));
}

/**
 * Files live in memory: tmpfs has a hard size limit and leaves nothing on the host. They count towards the memory
 * limit.
 */
function fileSystems(
  spec: SandboxSpec,
  user: ContainerUser,
  context: Pick<ContainerContext, 'described' | 'hasNodeModules' | 'layers'>,
): Record<string, string> {
  const { limits, mounts } = spec;
  const inodes = inodesOf(limits);
  const tmpfs = (sizeBytes: number, more: string) =>
    `rw,exec,nosuid,nodev,size=${Math.floor(sizeBytes)},nr_inodes=${inodes},${more}`;
  const own = `mode=0755,uid=${user.uid},gid=${user.gid}`;
  const places: Record<string, string> = {};
  // SECURITY: a volume that an image declares would be a folder on the host's disk without a limit.
  for (const path of context.described?.volumes ?? []) places[path] = tmpfs(scratchBytesOf(limits), 'mode=1777');
  places['/tmp'] = tmpfs(tmpBytesOf(spec), 'mode=1777');
  places['/var/tmp'] = tmpfs(tmpBytesOf(spec), 'mode=1777');
  places[spec.workspace ?? WORKSPACE] = tmpfs(limits.diskBytes, own);
  for (const path of layerPlaces(context)) places[path] = tmpfs(scratchBytesOf(limits), own);
  for (const { target } of [...mounts, ...layerBinds(context)]) delete places[target];
  return places;
}

function mounted(mount: Mount, { ownKernel }: ContainerRuntime, device: string | undefined) {
  if (device !== undefined) return bindByDescriptor(mount, device);
  if (ownKernel === undefined) return bind(mount);
  // SECURITY: under gVisor the guest cannot check which host folder was bound, so a bind by path could be exchanged.
  throw new HotcellError('internal', `${mount.target}: no descriptor to bind it by`);
}

/**
 * A bind mount in the `Mounts` syntax: the engine rejects a missing source. With `Binds` it would create the folder.
 */
function bind({ source, target, readOnly }: Bind) {
  // SECURITY: read-only applies to one file system; another one mounted below it on the host would be writable. So
  // submounts are left out.
  const alone = readOnly ? { NonRecursive: true } : {};
  return {
    Type: 'bind' as const,
    Source: source,
    Target: target,
    ReadOnly: readOnly,
    BindOptions: { Propagation: 'rprivate' as const, ...alone },
  };
}

/**
 * A bind that the engine makes in its own mount namespace, as an anonymous volume: there the kernel follows the
 * descriptor. The volume is removed with its container. SECURITY: a read-only bind is `private` and not `rprivate`,
 * which would include submounts, and those writable.
 */
function bindByDescriptor({ target, readOnly }: Mount, device: string) {
  const o = readOnly ? 'bind,ro,private' : 'rbind,rprivate';
  return {
    Type: 'volume' as const,
    Source: '',
    Target: target,
    VolumeOptions: {
      // SECURITY: otherwise the engine copies files of the image at this path into the host folder.
      NoCopy: true,
      Labels: {},
      DriverConfig: { Name: 'local', Options: { type: 'none', o, device } },
    },
  };
}

function memoryBytes(limits: Limits, runtime: ContainerRuntime): number {
  return Math.floor(limits.memoryBytes) + (runtime.ownKernel?.memoryRoomBytes(limits) ?? 0);
}

function ulimits(limits: Limits, runtime: ContainerRuntime) {
  const both = (Name: string, value: number) => ({ Name, Soft: Math.floor(value), Hard: Math.floor(value) });
  return [
    // `nofile` is not set: the guest keeps the engine's high limit, and sets that of kernels itself (guest:
    // system/limits.py).
    both('fsize', limits.fileBytes),
    // SECURITY: 0 would still start the program that the host pipes dumps to; 1 is too little for a file as well.
    both('core', 1),
    // Containers on the host's kernel may share a uid, and RLIMIT_NPROC would count the processes of all of them
    // together.
    ...(runtime.ownKernel === undefined ? [] : [both('nproc', limits.processes)]),
  ];
}
