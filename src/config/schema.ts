import * as z from 'zod';
import { recipeSchema } from '../languages/recipe.ts';
import { DRIVER_NAMES } from '../sandbox/isolation.ts';
import { DEFAULT_LIMITS, LEAST_LIMITS, type Limits } from '../sandbox/spec.ts';

const MiB = 1_048_576;
const DAY_MS = 86_400_000;
const MOST_CPUS = 1024;
const MOST_PROCESSES = 1_000_000;
const MOST_OPEN_FILES = 1_048_576;

const wholeNumber = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

const limit = (name: keyof Limits, most: number) =>
  z.coerce
    .number()
    .min(LEAST_LIMITS[name], { error: `must be at least ${LEAST_LIMITS[name]}: a kernel needs that much` })
    .max(most)
    .default(DEFAULT_LIMITS[name]);
/** Kernels take no halves of what they count. */
const wholeLimit = (name: keyof Limits, most = Number.MAX_SAFE_INTEGER) =>
  limit(name, most).refine(Number.isInteger, { error: 'is a whole number' });

export const limitsSchema = z
  .object({
    memoryBytes: wholeLimit('memoryBytes').describe('All memory of a sandbox, its files included'),
    cpus: limit('cpus', MOST_CPUS).describe('Processors a sandbox may keep busy'),
    processes: wholeLimit('processes', MOST_PROCESSES).describe('Processes and threads in a sandbox'),
    openFiles: wholeLimit('openFiles', MOST_OPEN_FILES).describe('Open files of one process'),
    fileBytes: wholeLimit('fileBytes').describe('Size of one file'),
    diskBytes: wholeLimit('diskBytes').describe('Size of the workspace'),
  })
  .refine((limits) => limits.diskBytes <= limits.memoryBytes, {
    error: 'diskBytes must not exceed memoryBytes: files of a sandbox live in its memory',
  });

export const PROFILE_NAMES = ['hotcell', 'code-sandbox'] as const;
export type ProfileName = (typeof PROFILE_NAMES)[number];

/**
 * The only source of options: names, defaults, bounds and what they mean. The environment name of an option is `HOTCELL_` and its name in capitals
 * (`maxSessions` → `HOTCELL_MAX_SESSIONS`); docs/configuration.md is held equal to this by a test.
 */
export const configSchema = z.object({
  profile: z
    .array(z.enum(PROFILE_NAMES))
    .min(1)
    .default(['hotcell'])
    .describe('Whose tools the server offers: its own, or those of a system that people come from, under their names')
    .meta({ allowed: `a list of ${PROFILE_NAMES.map((name) => `\`${name}\``).join(', ')}` }),
  isolation: z
    .enum(['auto', ...DRIVER_NAMES])
    .default('auto')
    .describe('The isolation of new sessions'),
  minIsolation: z.enum(DRIVER_NAMES).default('process').describe('Nothing weaker is ever used'),
  image: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/, { error: 'not the name of an image' })
    .optional()
    .describe('Container image of new sessions; the standard image by default'),
  allowedImages: z
    .array(
      z
        .string()
        .max(255)
        .regex(/^[A-Za-z0-9*][A-Za-z0-9._/:@*-]*$/, { error: 'not the name of an image, nor a pattern' }),
    )
    .max(1000)
    .default([])
    .describe(
      'Container images that callers over HTTP may name besides `image` and the standard one, such as `python:3.12` or `myorg/*`: `*` is any characters but `/`, and alone any image. Over stdio any image may be named',
    )
    .meta({ allowed: 'a list of names and patterns of images' }),
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
  maxSessions: wholeNumber(1, 10_000).default(200).describe('Open sessions at once'),
  maxSessionsPerOwner: wholeNumber(1, 10_000).default(20).describe('Open sessions of one token at once'),
  maxMemoryBytes: wholeNumber(LEAST_LIMITS.memoryBytes, Number.MAX_SAFE_INTEGER)
    .default(8192 * MiB)
    .describe('The most memory that a client of a server may ask for, for one session'),
  maxMemoryBytesPerOwner: wholeNumber(LEAST_LIMITS.memoryBytes, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe(
      "The most memory that the limits of one token's open sessions may add up to; by default half of the host's memory, or 8 GiB where that is more and the host has it",
    )
    .meta({ allowed: `${LEAST_LIMITS.memoryBytes} or more` }),
  maxCpus: z.coerce.number().min(LEAST_LIMITS.cpus).max(MOST_CPUS).default(8).describe('The most processors'),
  maxProcesses: wholeNumber(LEAST_LIMITS.processes, MOST_PROCESSES).default(4096).describe('The most processes'),
  maxOpenFiles: wholeNumber(LEAST_LIMITS.openFiles, MOST_OPEN_FILES).default(65_536).describe('The most open files'),
  maxOpenings: wholeNumber(1, 1000)
    .default(8)
    .describe(
      'Sandboxes that a server starts at once; more wait, owner by owner. One owner over HTTP gets half of the places at most, so give at least 2 where there are several',
    ),
  sessionIdleMs: wholeNumber(100, 30 * DAY_MS)
    .default(1_800_000)
    .describe('A session that nobody has used for so long is closed'),
  sessionMaxAgeMs: wholeNumber(100, 30 * DAY_MS)
    .default(DAY_MS)
    .describe('A session is closed at this age, busy or not; nobody can ask for more'),
  maxExecutions: wholeNumber(1, 10_000)
    .default(100)
    .describe(
      'Executions that a server runs at once; more wait, owner by owner. One owner over HTTP gets half of the places at most, so give at least 2 where there are several',
    ),
  maxPendingExecutions: wholeNumber(1, 100_000)
    .default(100)
    .describe('Executions of one owner that may run or wait at once'),
  keptExecutions: wholeNumber(1, 10_000).default(32).describe('Ended executions that each session remembers'),
  keptExecutionBytes: wholeNumber(0, 16_384 * MiB)
    .default(32 * MiB)
    .describe('What they may hold in memory; the last one is always kept'),
  keptLogBytes: wholeNumber(0, 1_048_576 * MiB)
    .default(256 * MiB)
    .describe('What their logs may hold on disk; the last one is always kept'),
  keptTotalBytes: wholeNumber(0, 1_048_576 * MiB)
    .default(512 * MiB)
    .describe(
      'What ended executions of all sessions may hold in memory together; the oldest of whoever keeps the most go first',
    ),
  keptTotalLogBytes: wholeNumber(0, 1_048_576 * MiB)
    .default(8192 * MiB)
    .describe('What their logs may hold on disk together'),
  maxUploadBytes: wholeNumber(1, 1_048_576 * MiB)
    .default(1024 * MiB)
    .describe('The largest file that may be written to a workspace through a server'),
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
  replyChars: wholeNumber(1000, 100_000)
    .default(16_000)
    .describe('Of each text (stdout, stderr, a value) in the reply of a tool; the rest is in the log'),
  loadRoots: z
    .array(z.string())
    .default([])
    .describe(
      'Host folders below which `load_file` may copy files; over stdio the home folder and the folder it was started in, by default',
    ),
  loadDenied: z.array(z.string()).default([]).describe('Host paths that are never copied, besides the built-in ones'),
  host: z.string().min(1).max(255).default('127.0.0.1').describe('The address that `hotcell serve` listens on'),
  port: wholeNumber(0, 65_535).default(7878).describe('Its port; 0 takes a free one'),
  allowedHosts: z
    .array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9.-]*$/, { error: 'not the name of a host' }))
    .default([])
    .describe(
      'Names by which the server is reached besides its address, such as that of a proxy; tokens are needed then',
    )
    .meta({ allowed: 'a list of host names' }),
  tokens: z
    .enum(['auto', 'always'])
    .default('auto')
    .describe(
      'Who needs a token: `auto`, everybody where others than this machine can reach the server; `always`, everybody',
    ),
  metricsAccess: z
    .enum(['auto', 'owner', 'anyone', 'nobody'])
    .default('auto')
    .describe(
      'Who may read `/metrics`, which counts what all callers do: `owner`, whoever may call `/mcp`; `auto`, the same, but nobody where tokens are needed',
    ),
  publicUrl: z
    .url({ protocol: /^https?$/, error: 'not an http or https address' })
    .optional()
    .describe('The address that links begin with, where it is another than that of the server')
    .meta({ allowed: 'an address' }),
  linkMs: wholeNumber(1000, 30 * DAY_MS)
    .default(3_600_000)
    .describe('How long a link to a file works'),
  linkSecret: z
    .string()
    .min(32)
    .max(1024)
    .optional()
    .describe('Links are signed with this; without it with a key in the data folder')
    .meta({ allowed: 'at least 32 characters' }),
  logLevel: z
    .enum(['silent', 'error', 'warn', 'info', 'debug'])
    .default('info')
    .describe("How much a server tells of itself. Users' code is never in it"),
  logFile: z.string().min(1).optional().describe('Where it tells that; stderr by default').meta({ allowed: 'a path' }),
  logFormat: z.enum(['json', 'console']).default('json').describe('For programs, or for people'),
  auditBytes: wholeNumber(0, 16_384 * MiB)
    .default(32 * MiB)
    .describe('The audit log (`audit/audit.jsonl` in the data folder) begins anew at this size; 0: there is none'),
  auditFiles: wholeNumber(1, 1000).default(8).describe('How many of its files are kept, the current one included'),
});

export type Config = z.infer<typeof configSchema>;
