import { cpus } from 'node:os';
import type { ContainerCreateOptions } from 'dockerode';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { COVERED_BELOW_KEPT, KNOWN_PROC_ENTRIES } from '../../sandbox/proc-entries.ts';
import {
  inodesOf,
  type Limits,
  type Mount,
  type SandboxSpec,
  scratchBytesOf,
  tmpBytesOf,
  WORKSPACE,
} from '../../sandbox/spec.ts';
import { LISTEN_ARGUMENTS } from '../pipe-guest/relay.ts';
import { COMMON_USER, type ContainerUser } from './container-user.ts';
import type { ImageDescription } from './engine-image.ts';
import { seccompProfile } from './seccomp-profile.ts';

/** What differs between the runtimes that containers are given. */
export interface ContainerRuntime {
  /** As the engine knows it; the engine's own default when absent. */
  readonly name?: string;
  /**
   * Present for a runtime that brings a kernel of its own, as gVisor does. That kernel's memory and threads count towards the container's limits
   * on the host, so those get room for it, and the sandbox's own limits are held inside.
   */
  readonly ownKernel?: {
    memoryRoomBytes(limits: Limits): number;
    threadRoom(limits: Limits): number;
  };
}

export interface ContainerContext {
  readonly image: string;
  readonly command: readonly string[];
  readonly runtime: ContainerRuntime;
  readonly installationId: string;
  readonly serverId: string;
  /** Paths of the mounted folders' descriptors (`mount-descriptors.ts`). Without them the folders are bound by path, and the guest compares them. */
  readonly devices?: readonly string[];
  /** The description of an image that is not Hotcell's own. */
  readonly described?: ImageDescription | undefined;
  /** The common one where absent. */
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
 * SECURITY: on cgroup v1 the memory of sockets is limited when the container runs (socket-memory.ts), and sockets that its image has made by then are not
 * counted. By default each can hold megabytes. The loopback is as fast with these.
 */
const SMALL_SOCKET_BUFFERS = { 'net.ipv4.tcp_rmem': '4096 65536 262144', 'net.ipv4.tcp_wmem': '4096 16384 262144' };

/** What an engine covers by itself, and covers no more where it is told what to. */
const MASKED_BY_ENGINE = [
  ...['/sys/firmware', '/sys/devices/virtual/powercap'],
  ...cpus().map((_, index) => `/sys/devices/system/cpu/cpu${index}/thermal_throttle`),
];
const MASKED_PATHS = [
  ...[...KNOWN_PROC_ENTRIES, ...COVERED_BELOW_KEPT].map((name) => `/proc/${name}`),
  ...MASKED_BY_ENGINE,
];

/** SECURITY: the engine copies the host's resolv.conf otherwise, with the names and addresses of its network. */
const NO_NAME_SERVER = { Dns: ['127.0.0.1'], DnsSearch: ['.'], DnsOptions: ['attempts:1'] };

/** Known to the engine since version 1.41, not yet to the types. */
const PRIVATE_CGROUPS = { CgroupnsMode: 'private' };

export function containerName(sandboxId: string): string {
  return `hotcell-${sandboxId}`;
}

/** A container of the shape *sealed*. Everything an image could decide for itself is decided here. */
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
      // SECURITY: always, or the image could say it.
      [LABELS.persistent]: String(spec.persistent !== undefined),
    },
    // The channel. Once: when the server that holds it is gone, the guest reads the end of it and exits, unless it listens elsewhere.
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
      // A kernel of its own has a /proc of its own.
      ...(runtime.ownKernel === undefined ? { MaskedPaths: MASKED_PATHS } : {}),
      ReadonlyRootfs: true,
      IpcMode: 'private',
      Init: false,
      AutoRemove: false,
      RestartPolicy: { Name: 'no' },
      // SECURITY: or everything on the channel, code and data of users, is written to the engine's log on disk.
      LogConfig: { Type: 'none', Config: {} },
      Tmpfs: fileSystems(spec, user, context.described?.volumes ?? []),
      ShmSize: scratchBytesOf(limits),
      Mounts: spec.mounts.map((mount, index) => mounted(mount, runtime, context.devices?.[index])),
      ...(runtime.ownKernel === undefined ? { Sysctls: SMALL_SOCKET_BUFFERS } : {}),
      Memory: memoryBytes(limits, runtime),
      MemorySwap: memoryBytes(limits, runtime),
      NanoCpus: Math.round(limits.cpus * 1e9),
      PidsLimit: limits.processes + (runtime.ownKernel?.threadRoom(limits) ?? 0),
      Ulimits: ulimits(limits, runtime),
      // A host that runs out of memory takes a sandbox before anything else of its own; inside, kernels stand before the guest.
      OomScoreAdj: 500,
    },
  };
}

/**
 * SECURITY: variables of the image reach the loader of its programs, and hooks of the engine's runtime: one of NVIDIA gives devices to a container that
 * asks for them so. The engine leaves out a variable that has a name and no value here.
 */
function environment(image: ImageDescription | undefined): string[] {
  const ours = ['HOME=/tmp', 'LANG=C.UTF-8', 'NVIDIA_VISIBLE_DEVICES=void'];
  if (image === undefined) return ours;
  const set = [`PATH=${image.path}`, ...ours];
  const names = set.map((entry) => entry.split('=', 1)[0]);
  return [...set, ...image.variables.filter((name) => !names.includes(name))];
}

/** SECURITY: programs of the host act on labels of containers, such as schedulers and proxies. The engine takes over those that have no value here. */
function emptyLabels(image: ImageDescription | undefined): Record<string, string> {
  return Object.fromEntries((image?.labels ?? []).map((name) => [name, '']));
}

/** The engine's own AppArmor profile holds as long as nothing here says otherwise. */
function securityOptions({ ownKernel }: ContainerRuntime): string[] {
  // A kernel of its own answers the calls itself: runsc ignores the profile, and has a filter around it that the image cannot reach.
  return ['no-new-privileges', ...(ownKernel === undefined ? [`seccomp=${JSON.stringify(seccompProfile())}`] : [])];
}

/** The paths of the file systems that a sandbox has in memory. */
export function memoryPlaces(spec: SandboxSpec, imageVolumes: readonly string[]): string[] {
  return Object.keys(fileSystems(spec, COMMON_USER, imageVolumes));
}

/** Files live in memory: a hard limit at their size, and nothing left on the host. They count towards the memory limit. */
function fileSystems(spec: SandboxSpec, user: ContainerUser, imageVolumes: readonly string[]): Record<string, string> {
  const { limits, mounts } = spec;
  const inodes = inodesOf(limits);
  const tmpfs = (sizeBytes: number, more: string) =>
    `rw,exec,nosuid,nodev,size=${Math.floor(sizeBytes)},nr_inodes=${inodes},${more}`;
  const places: Record<string, string> = {};
  // SECURITY: a volume that an image declares would be a folder on the host's disk without a limit.
  for (const path of imageVolumes) places[path] = tmpfs(scratchBytesOf(limits), 'mode=1777');
  places['/tmp'] = tmpfs(tmpBytesOf(spec), 'mode=1777');
  places['/var/tmp'] = tmpfs(tmpBytesOf(spec), 'mode=1777');
  places[spec.workspace ?? WORKSPACE] = tmpfs(limits.diskBytes, `mode=0755,uid=${user.uid},gid=${user.gid}`);
  for (const { target } of mounts) delete places[target];
  return places;
}

function mounted(mount: Mount, { ownKernel }: ContainerRuntime, device: string | undefined) {
  if (device !== undefined) return bindByDescriptor(mount, device);
  if (ownKernel === undefined) return bind(mount);
  // SECURITY: inside a kernel of its own no folder of the host can be told from another.
  throw new HotcellError('internal', `${mount.target}: no descriptor to bind it by`);
}

/** A mount and not a bind of the old kind: the engine refuses a source that is not there instead of making it. */
function bind({ source, target, readOnly }: Mount) {
  // SECURITY: read-only holds for one file system, and one that is mounted below it on the host would be writable. So none is shown.
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
 * A bind that the engine makes itself, on its own mounts, as what it calls a volume: there the kernel follows the descriptor. One without a name, so that it goes
 * with its container. SECURITY: a read-only one is `private` and not `rprivate`, which would take the file systems below it along, and those writable.
 */
function bindByDescriptor({ target, readOnly }: Mount, device: string) {
  const o = readOnly ? 'bind,ro,private' : 'rbind,rprivate';
  return {
    Type: 'volume' as const,
    Source: '',
    Target: target,
    VolumeOptions: {
      // SECURITY: else the engine copies what the image has there into the folder.
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
    // No `nofile`: the guest has what the engine gives, which is much, and gives kernels their limit itself (guest: system/limits.py).
    both('fsize', limits.fileBytes),
    // SECURITY: 0 would still start the program that the host pipes dumps to; 1 is too little for a file as well.
    both('core', 1),
    // Where containers share the host's kernel they may share a uid too, and a limit on its processes would be one for all of them.
    ...(runtime.ownKernel === undefined ? [] : [both('nproc', limits.processes)]),
  ];
}
