import * as z from 'zod';
import { parseOptions } from '../config/parse-options.ts';
import type { Config } from '../config/schema.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { IsolationRequest } from '../sandbox/isolation.ts';
import type { Limits } from '../sandbox/spec.ts';
import { environmentVariables } from '../sessions/environment-variables.ts';
import type { MountRequest } from '../sessions/mounts.ts';

/** What a client may say of a new session. Whatever it leaves out is the server's default. */
export interface OpenRequest {
  /** Of the client's own choice; unique among its own sessions only. */
  readonly id?: string;
  /** A second way to call it, for people. */
  readonly name?: string;
  readonly isolation?: IsolationRequest;
  readonly image?: string;
  readonly limits?: Partial<Limits>;
  readonly mounts?: readonly MountRequest[];
  readonly idleMs?: number;
  readonly maxAgeMs?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** It outlives the server, and a later one takes it over. Needs a driver whose sandboxes can; the others refuse. */
  readonly persistent?: boolean;
  /** Where the workspace is inside, and the size of /tmp: what systems promised that profiles stand in for. No client chooses them. */
  readonly workspace?: string;
  readonly tmpBytes?: number;
  /** The image is a setting of the server's. A client's own choice is checked. */
  readonly isOwnImage?: true;
}

/** One that was checked, with its times filled in. */
export interface CheckedRequest extends OpenRequest {
  readonly idleMs: number;
  readonly maxAgeMs: number;
}

/** What clients may call a session by. Also the form of a tool's argument. */
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

/** Checks what no later step does. Throws `invalid_argument`. */
export function checkRequest(
  request: OpenRequest,
  config: Pick<Config, 'sessionIdleMs' | 'sessionMaxAgeMs' | (typeof MOST)[number][1]>,
): CheckedRequest {
  parseOptions(ids, { id: request.id, name: request.name, environment: request.environment });
  const maxAgeMs = checkedMs('maxAgeMs', request.maxAgeMs ?? config.sessionMaxAgeMs, config.sessionMaxAgeMs);
  const idleMs = checkedMs(
    'idleMs',
    request.idleMs ?? defaultIdleMs(request, config.sessionIdleMs, maxAgeMs),
    config.sessionMaxAgeMs,
  );
  for (const [limit, option] of MOST) {
    const asked = request.limits?.[limit] ?? 0;
    if (asked > config[option]) {
      throw new HotcellError('invalid_argument', `limits.${limit}: ${asked} is more than ${config[option]}`, {
        remedy: `Ask for less, or raise ${option}.`,
      });
    }
  }
  return { ...request, idleMs, maxAgeMs };
}

/** Who asks for one that outlives the server means to come back later than usual. */
function defaultIdleMs({ persistent }: OpenRequest, usualMs: number, maxAgeMs: number): number {
  return persistent === true ? maxAgeMs : Math.min(usualMs, maxAgeMs);
}

/** Limits that a client can raise, and the option that says how far. The others live within these: files are in memory. */
const MOST = [
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
