import type { Container } from 'dockerode';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { DriverName } from '../../sandbox/isolation.ts';
import { type ContainerRuntime, LABELS } from './container-config.ts';
import { statusOf } from './engine-errors.ts';

/** A container that this server wants to take over, as the engine reports it. */
export type FoundContainer =
  | { readonly isOurs: boolean; readonly isRunning: false }
  /** `uid`: the uid of its processes; `python`: the interpreter of its guest. */
  | { readonly isOurs: true; readonly isRunning: true; readonly uid: number; readonly python: string };

export interface ContainerProof {
  readonly owner: string;
  readonly installationId: string;
  readonly runtime: ContainerRuntime;
}

/**
 * SECURITY: a record may be older than the engine it names, or forged. The container must have been created by this
 * installation, for that owner, in that runtime.
 */
export async function ownContainer(
  container: Container,
  { owner, installationId, runtime }: ContainerProof,
  signal: AbortSignal,
): Promise<FoundContainer> {
  const found = await container.inspect({ abortSignal: signal } as object).catch((error: unknown) => {
    if (statusOf(error) === 404) return undefined;
    throw error;
  });
  const labels = found?.Config.Labels ?? {};
  const isOurs =
    labels[LABELS.installation] === installationId &&
    labels[LABELS.persistent] === 'true' &&
    labels[LABELS.owner] === owner &&
    (runtime.name === undefined || found?.HostConfig.Runtime === runtime.name);
  if (!isOurs || found?.State.Running !== true) return { isOurs, isRunning: false };
  const uid = Number.parseInt(found.Config.User, 10);
  return { isOurs, isRunning: true, uid, python: found.Config.Cmd[0] ?? 'python3' };
}

export function containerLost(driver: DriverName): HotcellError {
  return new HotcellError('sandbox_lost', `${driver}: the container no longer runs`, {
    remedy: 'Open a new session; the variables and files of this one are lost.',
  });
}
