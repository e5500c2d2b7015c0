import { HotcellError, toHotcellError } from '../../errors/hotcell-error.ts';
import { newId } from '../../lib/ids.ts';
import type { Driver, Probe } from '../../sandbox/driver.ts';
import type { DriverName } from '../../sandbox/isolation.ts';
import { DEFAULT_LIMITS } from '../../sandbox/spec.ts';
import { epollWatches } from '../epoll-notes.ts';
import type { ContainerRuntime } from './container-config.ts';
import { containerNotes } from './container-notes.ts';
import type { EngineConnector } from './engine.ts';
import { inspectImage } from './engine-image.ts';

export interface ProbeSubject extends Pick<Driver, 'create'> {
  readonly name: DriverName;
  readonly runtime: ContainerRuntime;
  readonly engine: EngineConnector;
  standardImage(): string;
  /** The uid of sandboxes with folders of the host. */
  readonly folderUid: number;
  /** Whether the engine binds folders of this machine, known after the trial. */
  bindsFolders(): boolean;
}

/** Checks the prerequisites, cheapest first, then starts a sandbox and disposes of it. Pulls and builds nothing. */
export async function probeContainers(subject: ProbeSubject, options: { signal?: AbortSignal }): Promise<Probe> {
  const { name } = subject;
  try {
    await requireRuntime(subject);
    await inspectImage(subject.standardImage(), { driver: name, engine: subject.engine, isStandard: true });
    const sandbox = await subject.create(
      { id: newId('probe'), owner: 'probe', limits: DEFAULT_LIMITS, mounts: [], preloads: [], environment: {} },
      options,
    );
    await sandbox.dispose();
    const { runtime, folderUid } = subject;
    const notes = containerNotes(runtime, {
      countsSockets: await countsSockets(subject),
      folderUid,
      bindsFolders: subject.bindsFolders(),
      epollWatches: subject.engine.address.socketPath === undefined ? undefined : epollWatches(),
    });
    return { driver: name, available: true, isolation: sandbox.isolation, notes };
  } catch (thrown) {
    const error = toHotcellError(thrown);
    // The caller adds the driver's name to the reason.
    const reason = error.message.replace(new RegExp(`^${name}: `), '');
    return { driver: name, available: false, reason, remedy: error.remedy ?? `Run \`hotcell setup ${name}\`.` };
  }
}

/**
 * Whether socket memory is limited: by cgroup v2, or by Hotcell as root on the engine's host. An engine that does not
 * report a cgroup version is a new one.
 */
async function countsSockets({ engine }: ProbeSubject): Promise<boolean> {
  const info = (await engine.ask('describe itself', ({ docker }) => docker.info())) as { CgroupVersion?: string };
  return info.CgroupVersion !== '1' || (process.getuid?.() === 0 && engine.address.socketPath !== undefined);
}

async function requireRuntime({ name, runtime, engine }: ProbeSubject): Promise<void> {
  const wanted = runtime.name;
  if (wanted === undefined) return;
  const info = (await engine.ask('describe itself', ({ docker }) => docker.info())) as { Runtimes?: object };
  if (wanted in (info.Runtimes ?? {})) return;
  throw new HotcellError('driver_unavailable', `${name}: the runtime ${wanted} is not registered with the engine`, {
    remedy: `Run \`hotcell setup ${name}\`.`,
  });
}
