import * as z from 'zod';
import { parseOptions } from '../config/parse-options.ts';
import type { Config } from '../config/schema.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { NetworkSetting } from '../network/contract.ts';
import type { IsolationRequest } from '../sandbox/isolation.ts';
import type { Limits } from '../sandbox/spec.ts';
import { environmentVariables } from '../sessions/environment-variables.ts';
import type { MountRequest } from '../sessions/mounts.ts';

/** The options a client may set for a new session. The server's defaults apply to the rest. */
export interface OpenRequest {
  /** Id chosen by the client, unique among its owner's sessions. */
  readonly id?: string;
  /** Second name of the session, for people. */
  readonly name?: string;
  readonly isolation?: IsolationRequest;
  readonly image?: string;
  readonly limits?: Partial<Limits>;
  readonly mounts?: readonly MountRequest[];
  readonly idleMs?: number;
  readonly maxAgeMs?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** Network of the session, at most the owner's. */
  readonly network?: NetworkSetting;
  /** Names of the operator's services that the session may use; by default all that its owner may. */
  readonly services?: readonly string[];
  /** Rules that a person allowed this session beyond that. SECURITY: set where the person was asked, never by a client. */
  readonly networkGranted?: readonly string[];
  /**
   * Whether the session survives the server, so that a later one takes it over. Drivers without persistence refuse it.
   */
  readonly persistent?: boolean;
  /**
   * Path of the workspace in the sandbox, and size of /tmp, as another system promised them. Only profiles set them,
   * never a client.
   */
  readonly workspace?: string;
  readonly tmpBytes?: number;
  /** Set where the image is a setting of the server. An image that a client chose is checked. */
  readonly isOwnImage?: true;
}

/** A checked request, with its timeouts filled in. */
export interface CheckedRequest extends OpenRequest {
  readonly idleMs: number;
  readonly maxAgeMs: number;
}

/** Form of the ids and names of sessions, in requests and in tool arguments. */
export const SESSION_ID = /^[A-Za-z0-9_-]{1,64}$/;

const name = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[^\p{C}]+$/u, { error: 'has characters that cannot be shown' });

const ids = z.object({
  id: z.string().regex(SESSION_ID, { error: 'is 1 to 64 letters, digits, - and _' }).optional(),
  name: name.optional(),
  environment: environmentVariables.optional(),
});

/** Checks the members that no later step checks. Throws `invalid_argument`. */
export function checkRequest(
  request: OpenRequest,
  config: Pick<Config, 'sessionIdleMs' | 'sessionMaxAgeMs' | (typeof RAISABLE_LIMITS)[number][1]>,
): CheckedRequest {
  parseOptions(ids, { id: request.id, name: request.name, environment: request.environment });
  const maxAgeMs = checkedMs('maxAgeMs', request.maxAgeMs ?? config.sessionMaxAgeMs, config.sessionMaxAgeMs);
  const idleMs = checkedMs(
    'idleMs',
    request.idleMs ?? defaultIdleMs(request, config.sessionIdleMs, maxAgeMs),
    config.sessionMaxAgeMs,
  );
  for (const [limit, option] of RAISABLE_LIMITS) {
    const asked = request.limits?.[limit] ?? 0;
    if (asked > config[option]) {
      throw new HotcellError('invalid_argument', `limits.${limit}: ${asked} is more than ${config[option]}`, {
        remedy: `Ask for less, or raise ${option}.`,
      });
    }
  }
  return { ...request, idleMs, maxAgeMs };
}

/** Idle timeout. A persistent session keeps longer: its client means to come back later than usual. */
function defaultIdleMs({ persistent }: OpenRequest, usualMs: number, maxAgeMs: number): number {
  return persistent === true ? maxAgeMs : Math.min(usualMs, maxAgeMs);
}

/**
 * Limits that a client can raise, each with the option that bounds it. Other sizes are part of these: files are in
 * memory.
 */
const RAISABLE_LIMITS = [
  ['memoryBytes', 'maxMemoryBytes'],
  ['cpus', 'maxCpus'],
  ['processes', 'maxProcesses'],
  ['openFiles', 'maxOpenFiles'],
] as const;

function checkedMs(option: string, value: number, most: number): number {
  if (Number.isFinite(value) && value >= 1 && value <= most) return value;
  throw new HotcellError('invalid_argument', `${option}: ${value} is not between 1 and ${most}`, {
    remedy: 'Ask for less, or raise sessionMaxAgeMs.',
  });
}
