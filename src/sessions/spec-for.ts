import { parseOptions } from '../config/parse-options.ts';
import { type Config, configSchema, limitsSchema } from '../config/schema.ts';
import { newId } from '../lib/ids.ts';
import type { Limits, Mount, SandboxSpec } from '../sandbox/spec.ts';
import { environmentVariables } from './environment-variables.ts';
import type { MountRequest } from './mounts.ts';

/** The caller's options for the sandbox of a new session. */
export interface SandboxWishes {
  /** The owner. Sandboxes of different owners share nothing. */
  readonly owner?: string;
  readonly image?: string;
  readonly limits?: Partial<Limits>;
  readonly mounts?: readonly MountRequest[];
  readonly preloads?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The path of the workspace in the sandbox. Set by profiles, not by callers. */
  readonly workspace?: string;
  /** The size of /tmp. */
  readonly tmpBytes?: number;
}

const MOST_DISK_BYTES = 1_073_741_824;

const wishesSchema = configSchema.pick({ preloads: true, image: true }).extend({ environment: environmentVariables });

/**
 * The spec for a caller's options under this configuration, with mounts that are checked already. Throws if an option
 * is not allowed.
 */
export function specFor(config: Config, wishes: SandboxWishes, mounts: readonly Mount[]): SandboxSpec {
  const image = wishes.image ?? config.image;
  return {
    id: newId('s'),
    owner: wishes.owner ?? 'local',
    limits: parseOptions(
      limitsSchema,
      withDisk({ memoryBytes: config.memoryBytes, cpus: config.cpus, ...wishes.limits }),
    ),
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

/** If a request sets the memory and not the disk, the disk is reduced to fit into that memory. */
function withDisk(limits: Partial<Limits>): Partial<Limits> {
  if (limits.memoryBytes === undefined || limits.diskBytes !== undefined) return limits;
  return { ...limits, diskBytes: Math.min(MOST_DISK_BYTES, Math.floor(limits.memoryBytes / 2)) };
}
