import { parseOptions } from '../config/parse-options.ts';
import { type Config, configSchema, limitsSchema } from '../config/schema.ts';
import { newId } from '../lib/ids.ts';
import type { Limits, Mount, SandboxSpec } from '../sandbox/spec.ts';
import { environmentVariables } from './environment-variables.ts';
import type { MountRequest } from './mounts.ts';

/** What a caller may say about the sandbox of a new session. */
export interface SandboxWishes {
  /** Sandboxes of different owners share nothing. */
  readonly owner?: string;
  readonly image?: string;
  readonly limits?: Partial<Limits>;
  readonly mounts?: readonly MountRequest[];
  readonly preloads?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Where the workspace is inside. For profiles: no caller chooses it. */
  readonly workspace?: string;
  /** Of /tmp. */
  readonly tmpBytes?: number;
}

const MOST_DISK_BYTES = 1_073_741_824;

const wishesSchema = configSchema.pick({ preloads: true, image: true }).extend({ environment: environmentVariables });

/** The spec for a caller's wishes under this configuration, with its mounts checked already. Throws what is not allowed. */
export function specFor(config: Config, wishes: SandboxWishes, mounts: readonly Mount[]): SandboxSpec {
  const image = wishes.image ?? config.image;
  return {
    id: newId('s'),
    owner: wishes.owner ?? 'local',
    limits: parseOptions(limitsSchema, withDisk(wishes.limits ?? {})),
    mounts,
    ...parseOptions(wishesSchema, {
      preloads: wishes.preloads ?? config.preloads,
      environment: wishes.environment ?? {},
      ...(image === undefined ? {} : { image }),
    }),
    ...(wishes.workspace === undefined ? {} : { workspace: wishes.workspace }),
    ...(wishes.tmpBytes === undefined ? {} : { tmpBytes: wishes.tmpBytes }),
  };
}

/** Who asks for little memory and says nothing of the disk gets a disk that fits into it. */
function withDisk(limits: Partial<Limits>): Partial<Limits> {
  if (limits.memoryBytes === undefined || limits.diskBytes !== undefined) return limits;
  return { ...limits, diskBytes: Math.min(MOST_DISK_BYTES, Math.floor(limits.memoryBytes / 2)) };
}
