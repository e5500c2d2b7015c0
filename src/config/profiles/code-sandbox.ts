import * as z from 'zod';
import { LEAST_LIMITS } from '../../sandbox/spec.ts';
import { DAY_MS, imageName, MiB, wholeNumber } from '../option-types.ts';
import { type Config, configSchema } from '../schema.ts';
import { defineSettings } from './define-settings.ts';

/**
 * The settings of the profile `code-sandbox`, under the names that its users know: `SANDBOX_` and the name in capitals (`execTimeoutS` →
 * `SANDBOX_EXEC_TIMEOUT_S`). They are read only if the profile is in use. A test keeps docs/configuration.md equal to this schema.
 */
export const codeSandboxSchema = z.object({
  image: imageName
    .optional()
    .describe('Container image of its sessions, with Python 3.9 or newer; the standard image by default'),
  memoryLimit: z
    .string()
    .regex(/^\d{1,12}(\.\d{1,3})?[bkmg]?$/i, { error: 'not a size such as 512m or 2g' })
    .refine((memoryLimit) => memoryLimitBytes({ memoryLimit }) >= LEAST_LIMITS.memoryBytes, {
      error: `must be at least ${LEAST_LIMITS.memoryBytes / MiB}m: a kernel needs that much`,
    })
    .default('512m')
    .describe('Memory of a sandbox, including its files, which may use half of it')
    .meta({ allowed: 'a number with `b`, `k`, `m` or `g`' }),
  cpuLimit: z.coerce.number().min(0.05).max(1024).default(1).describe('Number of CPUs that a sandbox may use'),
  execTimeoutS: wholeNumber(1, 86_400).default(60).describe('Timeout of a run, in seconds'),
  sessionTtlM: wholeNumber(1, 43_200).default(30).describe('Idle timeout of a session, in minutes'),
  maxSessions: wholeNumber(1, 10_000).default(10).describe('Open sessions of the server'),
  cleanupIntervalM: wholeNumber(1, 43_200)
    .default(5)
    .describe('Accepted for compatibility, without effect: sessions are closed on time, not in intervals'),
  maxUploadBytes: wholeNumber(1, 256 * MiB)
    .default(50 * MiB)
    .describe('Maximum size of an uploaded file'),
  maxArtifactReadBytes: wholeNumber(1, 256 * MiB)
    .default(10 * MiB)
    .describe('Maximum size of a file in a reply; download larger files'),
  maxOutputBytes: wholeNumber(1, 16 * MiB)
    .default(102_400)
    .describe('Output kept of stdout and of stderr of a run'),
  maxCodeBytes: wholeNumber(1, MiB).default(102_400).describe('Maximum size of the code of a run'),
  httpHost: z.string().min(1).max(255).default('127.0.0.1').describe('Address of the file server'),
  httpPort: wholeNumber(0, 65_535)
    .default(8080)
    .describe('Port of the file server; over stdio, another port if it is in use'),
  logLevel: z.enum(['DEBUG', 'INFO', 'WARNING', 'ERROR']).default('INFO').describe('Level of the server log'),
  logFile: z
    .string()
    .min(1)
    .optional()
    .describe('File of the server log; stderr by default')
    .meta({ allowed: 'a path' }),
  logFormat: z.enum(['console', 'json']).default('console').describe('Format of the server log'),
});

export type CodeSandboxSettings = z.infer<typeof codeSandboxSchema>;

export function memoryLimitBytes({ memoryLimit }: { readonly memoryLimit: string }): number {
  const unit = { b: 1, k: 1024, m: MiB, g: 1024 * MiB }[memoryLimit.slice(-1).toLowerCase()] ?? 1;
  return Math.floor(Number.parseFloat(memoryLimit) * unit);
}

const LEVELS = { DEBUG: 'debug', INFO: 'info', WARNING: 'warn', ERROR: 'error' } as const;

/** The settings for the list in `config/profiles/index.ts`. */
export const codeSandboxSettings = defineSettings({
  profile: 'code-sandbox',
  schema: codeSandboxSchema,
  prefix: 'SANDBOX',
  fromText: (name, text) =>
    name === 'logLevel' ? text.toUpperCase() : name === 'logFormat' ? text.toLowerCase() : text,
  serverDefaults: (settings, { isOnly }): Partial<Config> => ({
    // Alone, the profile uses the isolation of the system that it replaces; beside other profiles each of its sessions requests it.
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
