import { z } from 'zod';
import { recipeSchema } from '../languages/recipe.ts';
import { DRIVER_NAMES } from '../sandbox/isolation.ts';
import { DEFAULT_LIMITS, LEAST_LIMITS, type Limits } from '../sandbox/spec.ts';

const MiB = 1_048_576;
const DAY_MS = 86_400_000;

const atLeast = (name: keyof Limits) =>
  z.coerce
    .number()
    .min(LEAST_LIMITS[name], { error: `must be at least ${LEAST_LIMITS[name]}: a kernel needs that much` })
    .default(DEFAULT_LIMITS[name]);

export const limitsSchema = z
  .object({
    memoryBytes: atLeast('memoryBytes').describe('All memory of a sandbox, its files included'),
    cpus: atLeast('cpus').describe('Processors a sandbox may keep busy'),
    processes: atLeast('processes').describe('Processes and threads in a sandbox'),
    openFiles: atLeast('openFiles').describe('Open files of one process'),
    fileBytes: atLeast('fileBytes').describe('Size of one file'),
    diskBytes: atLeast('diskBytes').describe('Size of the workspace'),
  })
  .refine((limits) => limits.diskBytes <= limits.memoryBytes, {
    error: 'diskBytes must not exceed memoryBytes: files of a sandbox live in its memory',
  });

/**
 * The only source of options: names, defaults, bounds and what they mean. The environment name of an option is `HOTCELL_` and its name in capitals
 * (`maxSessions` → `HOTCELL_MAX_SESSIONS`); docs/configuration.md is held equal to this by a test.
 */
export const configSchema = z.object({
  isolation: z
    .enum(['auto', ...DRIVER_NAMES])
    .default('auto')
    .describe('The isolation of new sessions'),
  minIsolation: z
    .enum(DRIVER_NAMES as ['process', 'docker', 'gvisor'])
    .default('process')
    .describe('Nothing weaker is ever used'),
  image: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/, { error: 'not the name of an image' })
    .optional()
    .describe('Container image of new sessions; the standard image by default'),
  preloads: z
    .array(z.string().regex(/^[A-Za-z_][\w.]*$/, { error: 'not the name of a module' }))
    .default(['IPython.core.interactiveshell', 'numpy', 'pandas', 'matplotlib.pyplot'])
    .describe('Modules that kernels start with, imported once and shared'),
  recipes: z
    .array(recipeSchema)
    .max(100)
    .default([])
    .describe('Languages to add, or to replace by name: docs/guides/languages.md. JSON in the environment'),
  mountRoots: z.array(z.string()).default([]).describe('Host folders below which folders may be mounted'),
  mountDenied: z.array(z.string()).default([]).describe('Host paths that are never mounted, besides the built-in ones'),
  timeoutMs: z.coerce
    .number()
    .int()
    .min(1)
    .max(DAY_MS)
    .default(60_000)
    .describe('Time limit of an execution that names none'),
  maxTimeoutMs: z.coerce
    .number()
    .int()
    .min(1)
    .max(DAY_MS)
    .default(DAY_MS)
    .describe('The longest time limit that may be asked for'),
  maxCodeBytes: z.coerce.number().int().min(1).max(MiB).default(MiB).describe('The largest code'),
  startTimeoutMs: z.coerce
    .number()
    .int()
    .min(100)
    .max(600_000)
    .default(30_000)
    .describe('How long a sandbox may take to start'),
  maxSessions: z.coerce.number().int().min(1).max(10_000).default(200).describe('Open sessions at once'),
  poolSize: z.coerce.number().int().min(0).max(100).default(1).describe('Sandboxes kept ready for each kind in use'),
  outputBytes: z.coerce
    .number()
    .int()
    .min(1024)
    .max(16 * MiB)
    .default(131_072)
    .describe('Kept of each stream, half from the beginning, half from the end'),
  logBytes: z.coerce
    .number()
    .int()
    .min(0)
    .max(16_384 * MiB)
    .default(64 * MiB)
    .describe('The largest log of one execution'),
  recordBytes: z.coerce
    .number()
    .int()
    .min(0)
    .max(1024 * MiB)
    .default(8 * MiB)
    .describe('Kept of each session for `exportNotebook`; the oldest outputs go first'),
});

export type Config = z.infer<typeof configSchema>;
