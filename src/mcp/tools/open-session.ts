import * as z from 'zod';
import { requireAtMost } from '../../config/at-most.ts';
import type { Config } from '../../config/schema.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { refuseLoopbackRules } from '../../network/loopback-rules.ts';
import { DRIVER_NAMES } from '../../sandbox/isolation.ts';
import { LEAST_LIMITS } from '../../sandbox/spec.ts';
import { defineTool } from '../define-tool.ts';
import { withNetworkConsent } from '../network-consent.ts';
import { sessionOutput, sessionStructured, sessionText } from '../present/session-output.ts';
import { networkArgument } from './network-argument.ts';

const MiB = 1_048_576;
const DAY_SECONDS = 86_400;
const LEAST_MB = LEAST_LIMITS.memoryBytes / MiB;

const limitsArgument = z.strictObject({
  memory_mb: z.number().min(LEAST_MB).max(1_048_576).optional().describe('Memory with files, in MiB'),
  cpus: z.number().min(LEAST_LIMITS.cpus).max(1024).optional().describe('Processors'),
  disk_mb: z
    .number()
    .min(LEAST_LIMITS.diskBytes / MiB)
    .max(1_048_576)
    .optional()
    .describe('Workspace, at most memory_mb'),
  processes: z.number().int().min(LEAST_LIMITS.processes).max(100_000).optional(),
});

export const openSession = defineTool({
  name: 'open_session',
  title: 'Open a session',
  description: `Opens a session: a separate sandbox with its own variables and files. Needed only for a second session, or for a special limit, isolation, image or mount; otherwise just call run_code. Pass the returned session_id (or the name) to the other tools.

  {"name": "analysis", "limits": {"memory_mb": 4096, "cpus": 2}}`,
  input: z.strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, { error: 'a name has at most 64 letters, digits, . _ and -' })
      .optional()
      .describe('Name of your choice'),
    isolation: z
      .enum(['auto', ...DRIVER_NAMES])
      .optional()
      .describe('auto: the strongest available'),
    image: z
      .string()
      .max(255)
      .regex(/^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/, { error: 'not the name of an image' })
      .optional()
      .describe('Container image (docker, gvisor)'),
    limits: limitsArgument.optional(),
    mounts: z
      .array(
        z.strictObject({
          source: z.string().min(1).max(4096).describe("Folder on the server's machine, if allowed"),
          target: z.string().min(1).max(200).describe('Path in the sandbox'),
          read_only: z.boolean().default(true),
        }),
      )
      .max(10)
      .optional(),
    environment: z
      .record(
        z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, { error: 'not the name of a variable' }),
        z
          .string()
          .max(32_768)
          .refine((value) => !value.includes('\0'), { error: 'contains a NUL character' }),
      )
      .refine((variables) => Object.keys(variables).length <= 100, { error: 'more than 100 variables' })
      .optional()
      .describe('Environment variables'),
    network: networkArgument.optional().describe('As set_network (if available)'),
    services: z.array(z.string()).optional().describe('By name; default: all'),
    persistent: z.boolean().optional().describe('Survives a restart of the server (docker, gvisor)'),
    ttl_seconds: z
      .number()
      .int()
      .min(1)
      .max(30 * DAY_SECONDS)
      .optional()
      .describe('Close it at this age'),
    idle_seconds: z
      .number()
      .int()
      .min(1)
      .max(30 * DAY_SECONDS)
      .optional()
      .describe('Close it after this time without use'),
  }),
  output: sessionOutput,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  isLong: true,
  async handler(args, call) {
    const { name, isolation, image, limits, mounts, environment, network, services, persistent } = args;
    const { ttl_seconds, idle_seconds } = args;
    const { directory, owner, config } = call.deps;
    if (network !== undefined) refuseLoopbackRules(network);
    call.reportWith(() => 'opening a sandbox');
    const request = {
      name,
      isolation,
      image,
      limits: limits === undefined ? undefined : limitsOf(limits),
      mounts: mounts?.map(({ source, target, read_only }) => ({ source, target, readOnly: read_only })),
      environment,
      network,
      services,
      persistent,
      maxAgeMs: ttl_seconds === undefined ? undefined : ttl_seconds * 1000,
      idleMs: idle_seconds === undefined ? undefined : idle_seconds * 1000,
    };
    const managed = await withNetworkConsent(
      call,
      name === undefined ? 'a new session' : `session ${name}`,
      (granted) =>
        directory.open(owner, withoutUndefined({ ...request, networkGranted: granted }), {
          signal: call.signal,
          via: 'open_session',
          check: () => requireAllowed({ ...limits, ttl_seconds, idle_seconds }, config),
        }),
    );
    const structured = sessionStructured(managed);
    return { structured, content: [{ type: 'text', text: `Opened. ${sessionText(structured)}` }] };
  },
});

interface Wanted extends z.output<typeof limitsArgument> {
  readonly ttl_seconds: number | undefined;
  readonly idle_seconds: number | undefined;
}

function requireAllowed(
  { memory_mb, disk_mb = 0, cpus, processes, ttl_seconds, idle_seconds }: Wanted,
  config: Config,
): void {
  requireAtMost('limits.memory_mb', memory_mb, { config, option: 'maxMemoryBytes', perUnit: MiB });
  const memoryMb = memory_mb ?? config.memoryBytes / MiB;
  if (disk_mb > memoryMb) {
    throw new HotcellError('invalid_argument', `limits.disk_mb: must not be more than memory_mb (${memoryMb})`, {
      remedy: 'Set a larger limits.memory_mb: files of a sandbox live in its memory.',
    });
  }
  requireAtMost('limits.cpus', cpus, { config, option: 'maxCpus' });
  requireAtMost('limits.processes', processes, { config, option: 'maxProcesses' });
  requireAtMost('ttl_seconds', ttl_seconds, { config, option: 'sessionMaxAgeMs', perUnit: 1000 });
  requireAtMost('idle_seconds', idle_seconds, { config, option: 'sessionMaxAgeMs', perUnit: 1000 });
}

function limitsOf(limits: z.output<typeof limitsArgument>) {
  return withoutUndefined({
    memoryBytes: limits.memory_mb === undefined ? undefined : Math.floor(limits.memory_mb * MiB),
    diskBytes: limits.disk_mb === undefined ? undefined : Math.floor(limits.disk_mb * MiB),
    cpus: limits.cpus,
    processes: limits.processes,
  });
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function withoutUndefined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Defined<T>;
}
