import * as z from 'zod';
import { LEAST_LIMITS } from '../../sandbox/spec.ts';
import { type Config, configSchema } from '../schema.ts';
import { defineSettings } from './define-settings.ts';

const MiB = 1_048_576;
const wholeNumber = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

/**
 * The settings of the profile `code-sandbox`, under the names that its users know: `SANDBOX_` and the name in capitals (`execTimeoutS` →
 * `SANDBOX_EXEC_TIMEOUT_S`). Read only where the profile is in use; docs/configuration.md is held equal to this by a test.
 */
export const codeSandboxSchema = z.object({
  image: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/, { error: 'not the name of an image' })
    .optional()
    .describe('Container image of its sessions, any that has Python 3.9 or newer; the standard image by default'),
  memoryLimit: z
    .string()
    .regex(/^\d{1,12}(\.\d{1,3})?[bkmg]?$/i, { error: 'not a size such as 512m or 2g' })
    .refine((memoryLimit) => memoryLimitBytes({ memoryLimit }) >= LEAST_LIMITS.memoryBytes, {
      error: `must be at least ${LEAST_LIMITS.memoryBytes / MiB}m: a kernel needs that much`,
    })
    .default('512m')
    .describe('All memory of a sandbox; its files live in it, and may take half of it')
    .meta({ allowed: 'a number with `b`, `k`, `m` or `g`' }),
  cpuLimit: z.coerce.number().min(0.05).max(1024).default(1).describe('Processors a sandbox may keep busy'),
  execTimeoutS: wholeNumber(1, 86_400).default(60).describe('Time limit of a run, in seconds'),
  sessionTtlM: wholeNumber(1, 43_200)
    .default(30)
    .describe('A session that nobody has used for so many minutes is closed'),
  maxSessions: wholeNumber(1, 10_000).default(10).describe('Open sessions of the server at once'),
  cleanupIntervalM: wholeNumber(1, 43_200)
    .default(5)
    .describe(
      'How many minutes too late a session may be closed. Checked, and without effect: none is late, because nothing is looked at in intervals',
    ),
  maxUploadBytes: wholeNumber(1, 256 * MiB)
    .default(50 * MiB)
    .describe('The largest file that may be uploaded'),
  maxArtifactReadBytes: wholeNumber(1, 256 * MiB)
    .default(10 * MiB)
    .describe('The largest file that is read back in a reply; larger ones are downloaded'),
  maxOutputBytes: wholeNumber(1, 16 * MiB)
    .default(102_400)
    .describe('Kept of stdout and of stderr of a run'),
  maxCodeBytes: wholeNumber(1, MiB).default(102_400).describe('The largest code'),
  httpHost: z.string().min(1).max(255).default('127.0.0.1').describe('The address that serves the files'),
  httpPort: wholeNumber(0, 65_535).default(8080).describe('Its port; beside a stdio server another one if it is taken'),
  logLevel: z
    .enum(['DEBUG', 'INFO', 'WARNING', 'ERROR'])
    .default('INFO')
    .describe('How much the server tells of itself'),
  logFile: z.string().min(1).optional().describe('Where it tells that; stderr by default').meta({ allowed: 'a path' }),
  logFormat: z.enum(['console', 'json']).default('console').describe('How it tells that'),
});

export type CodeSandboxSettings = z.infer<typeof codeSandboxSchema>;

export function memoryLimitBytes({ memoryLimit }: { readonly memoryLimit: string }): number {
  const unit = { b: 1, k: 1024, m: MiB, g: 1024 * MiB }[memoryLimit.slice(-1).toLowerCase()] ?? 1;
  return Math.floor(Number.parseFloat(memoryLimit) * unit);
}

const DAY_MS = 86_400_000;
const LEVELS = { DEBUG: 'debug', INFO: 'info', WARNING: 'warn', ERROR: 'error' } as const;

/** As `config/profiles/index.ts` lists it. */
export const codeSandboxSettings = defineSettings({
  profile: 'code-sandbox',
  schema: codeSandboxSchema,
  prefix: 'SANDBOX',
  fromText: (name, text) =>
    name === 'logLevel' ? text.toUpperCase() : name === 'logFormat' ? text.toLowerCase() : text,
  serverDefaults: (settings, { isOnly }): Partial<Config> => ({
    // Alone, it is as isolated as the system that it replaces; beside other profiles each session asks for itself.
    ...(isOnly ? { isolation: 'docker' } : {}),
    host: settings.httpHost,
    port: settings.httpPort,
    maxSessions: settings.maxSessions,
    outputBytes: Math.max(1024, settings.maxOutputBytes),
    maxMemoryBytes: Math.max(configSchema.shape.maxMemoryBytes.parse(undefined), memoryLimitBytes(settings)),
    maxCpus: Math.max(configSchema.shape.maxCpus.parse(undefined), settings.cpuLimit),
    sessionMaxAgeMs: Math.max(DAY_MS, settings.sessionTtlM * 60_000),
    logLevel: LEVELS[settings.logLevel],
    logFormat: settings.logFormat,
    ...(settings.logFile === undefined ? {} : { logFile: settings.logFile }),
  }),
});
