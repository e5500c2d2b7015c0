import * as z from 'zod';
import { recipeSchema } from '../languages/recipe.ts';
import { credentialsSchema, forwardsSchema } from '../network/upstreams/upstream.ts';
import { DEFAULT_LIMITS as NETWORK_LIMITS } from '../network/usage.ts';
import { DRIVER_NAMES } from '../sandbox/isolation.ts';
import { DEFAULT_LIMITS, LEAST_LIMITS, type Limits } from '../sandbox/spec.ts';
import { DAY_MS, imageName, MiB, networkRules, wholeNumber } from './option-types.ts';

const MOST_CPUS = 1024;
const MOST_PROCESSES = 1_000_000;
const MOST_OPEN_FILES = 1_048_576;

const limit = (name: keyof Limits, most: number) =>
  z.coerce
    .number()
    .min(LEAST_LIMITS[name], { error: `must be at least ${LEAST_LIMITS[name]}: a kernel needs that much` })
    .max(most)
    .default(DEFAULT_LIMITS[name]);
/** A limit that the Linux kernel counts in whole units. */
const wholeLimit = (name: keyof Limits, most = Number.MAX_SAFE_INTEGER) =>
  limit(name, most).refine(Number.isInteger, { error: 'must be a whole number' });

export const limitsSchema = z
  .object({
    memoryBytes: wholeLimit('memoryBytes').describe('Memory of a sandbox, including its files'),
    cpus: limit('cpus', MOST_CPUS).describe('Number of CPUs that a sandbox may use'),
    processes: wholeLimit('processes', MOST_PROCESSES).describe('Number of processes and threads in a sandbox'),
    openFiles: wholeLimit('openFiles', MOST_OPEN_FILES).describe('Number of open files of one process'),
    fileBytes: wholeLimit('fileBytes').describe('Maximum size of one file'),
    diskBytes: wholeLimit('diskBytes').describe('Maximum size of the workspace'),
  })
  .refine((limits) => limits.diskBytes <= limits.memoryBytes, {
    error: 'diskBytes must not exceed memoryBytes: files of a sandbox live in its memory',
  });

/** Puts options under one heading of docs/configuration.md. */
const grouped = <Shape extends z.ZodRawShape>(group: string, shape: Shape): Shape =>
  Object.fromEntries(
    Object.entries(shape).map(([name, option]) => [name, (option as z.ZodType).meta({ group })]),
  ) as unknown as Shape;

export const PROFILE_NAMES = ['hotcell', 'code-sandbox'] as const;
export type ProfileName = (typeof PROFILE_NAMES)[number];

/**
 * The only source of options: names, defaults, bounds and descriptions. The environment name of an option is `HOTCELL_` and its name in capitals
 * (`maxSessions` → `HOTCELL_MAX_SESSIONS`). A test keeps docs/configuration.md equal to this schema.
 */
export const configSchema = z.object({
  ...grouped('Sandboxes', {
    isolation: z
      .enum(['auto', ...DRIVER_NAMES])
      .default('auto')
      .describe('Isolation driver of new sessions; `auto` is the strongest that works on this host'),
    minIsolation: z
      .enum(DRIVER_NAMES)
      .default('process')
      .describe('Minimum isolation. Hotcell refuses to run code with a weaker driver'),
    image: imageName.optional().describe('Container image of new sessions; the standard image by default'),
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
        'Allowlist of container images for clients over HTTP, besides `image` and the standard image, such as `python:3.12` or `myorg/*`. `*` matches any characters except `/`; a single `*` allows any image. Clients over stdio may use any image',
      )
      .meta({ allowed: 'a list of names and patterns of images' }),
    memoryBytes: wholeNumber(LEAST_LIMITS.memoryBytes, Number.MAX_SAFE_INTEGER)
      .default(DEFAULT_LIMITS.memoryBytes)
      .describe('Memory of a new session, including its files, if its caller sets no limit'),
    cpus: z.coerce
      .number()
      .min(LEAST_LIMITS.cpus)
      .max(MOST_CPUS)
      .default(DEFAULT_LIMITS.cpus)
      .describe('Number of CPUs of a new session, if its caller sets no limit'),
    startTimeoutMs: z.coerce
      .number()
      .int()
      .min(100)
      .max(600_000)
      .default(30_000)
      .describe('Timeout for the start of a sandbox'),
    poolSize: z.coerce
      .number()
      .int()
      .min(0)
      .max(100)
      .default(1)
      .describe(
        'Warm pool: sandboxes kept ready for each kind (driver and specification) in use. Up to 4 containers while sessions follow each other',
      ),
    preloads: z
      .array(z.string().regex(/^[A-Za-z_][\w.]*$/, { error: 'not the name of a module' }))
      .default(['IPython.core.interactiveshell', 'numpy', 'pandas', 'matplotlib.pyplot'])
      .describe('Python modules that are imported once and shared copy-on-write by all kernels'),
    recipes: z
      .array(recipeSchema)
      .max(100)
      .default([])
      .describe('Languages to add, or to replace by name: docs/guides/languages.md. JSON in the environment'),
  }),
  ...grouped('Files of the host', {
    mountRoots: z.array(z.string()).default([]).describe('Host folders whose subfolders may be mounted'),
    mountDenied: z
      .array(z.string())
      .default([])
      .describe('Host paths that are never mounted, in addition to the built-in list'),
    loadRoots: z
      .array(z.string())
      .default([])
      .describe(
        'Host folders from which `load_file` may copy files; over stdio, the home folder and the working directory by default',
      ),
    loadDenied: z
      .array(z.string())
      .default([])
      .describe('Host paths that are never copied, in addition to the built-in list'),
  }),
  ...grouped('Network', {
    network: networkRules
      .default(['none'])
      .describe(
        'Ceiling: the most that any session may reach: `none`, or a list of rules (`registries`, `all`, `host`, `*.host`, `host:port`; with `!` a rule denies). Only a rule that names a host exactly opens a private address: docs/guides/network.md',
      )
      .meta({ allowed: 'a list of rules' }),
    sessionNetwork: networkRules
      .default(['none'])
      .describe(
        'Network of new sessions, within the ceiling. If only the flag `--network` is given, the same as the ceiling',
      )
      .meta({ allowed: 'a list of rules' }),
    networkAsk: z
      .enum(['never', 'local', 'always'])
      .default('never')
      .describe(
        'Whether tools may ask the user, in clients that can show a form, to allow a session more than the ceiling: `local`, over stdio; `always`, over HTTP too, where the holder of a token decides for itself. The user cannot open private addresses, nor what the ceiling denies with `!`',
      ),
    forwards: forwardsSchema
      .default({})
      .describe(
        'TCP servers by name, such as `{"db": "postgres.internal:5432"}`. A session that may use one reaches it on its own loopback: docs/guides/network.md. JSON in the environment',
      )
      .meta({ allowed: 'names with `host:port`' }),
    credentials: credentialsSchema
      .default({})
      .describe(
        'HTTP servers by name, each with a URL and the place of its secret on the host (`env`, `file`, `command`). The host adds the secret to requests, so no sandbox ever has it: docs/guides/network.md. JSON in the environment',
      )
      .meta({ allowed: 'names with `url` and `secret`' }),
    maxConnections: wholeNumber(1, 256)
      .default(NETWORK_LIMITS.connections)
      .describe('Network connections of one session at a time'),
    maxConnectionsPerOwner: wholeNumber(1, 100_000)
      .default(512)
      .describe('Network connections of all sessions of one owner at a time'),
    maxSentBytes: wholeNumber(0, Number.MAX_SAFE_INTEGER)
      .default(NETWORK_LIMITS.sentBytes)
      .describe('Bytes that one session may send to servers in total'),
    maxReceivedBytes: wholeNumber(0, Number.MAX_SAFE_INTEGER)
      .default(NETWORK_LIMITS.receivedBytes)
      .describe('Bytes that one session may receive from servers in total'),
    connectionIdleMs: wholeNumber(100, DAY_MS)
      .default(NETWORK_LIMITS.idleMs)
      .describe('Idle timeout of a network connection'),
  }),
  ...grouped('Packages', {
    installTimeoutMs: wholeNumber(1000, DAY_MS)
      .default(600_000)
      .describe('Timeout of one step of an installation of packages: resolving, or fetching and building'),
    builderMemoryBytes: wholeNumber(256 * MiB, Number.MAX_SAFE_INTEGER)
      .default(4096 * MiB)
      .describe('Memory of the sandbox in which packages are fetched and built, including its files'),
    layerBytes: wholeNumber(MiB, Number.MAX_SAFE_INTEGER)
      .default(1024 * MiB)
      .describe('Maximum size of the packages of one installation'),
    layerFiles: wholeNumber(100, 500_000)
      .default(200_000)
      .describe('Maximum number of files and folders of the packages of one installation'),
    packageBytesPerOwner: wholeNumber(0, Number.MAX_SAFE_INTEGER)
      .default(4096 * MiB)
      .describe(
        'Size of the installed packages that are kept for one owner, for the next session that asks for them; sessions cannot use more at a time',
      ),
    packageBytes: wholeNumber(0, Number.MAX_SAFE_INTEGER)
      .default(16_384 * MiB)
      .describe('Size of the installed packages that are kept for all owners. Those used least recently are removed'),
  }),
  ...grouped('Executions', {
    timeoutMs: z.coerce.number().int().min(1).max(DAY_MS).default(60_000).describe('Default timeout of an execution'),
    backgroundAfterMs: wholeNumber(100, DAY_MS)
      .optional()
      .describe(
        'Time after which a call of `run_code` or `run_command` is answered, and its execution continues in the background. By default 45 seconds, longer for clients known to wait longer: docs/tools.md',
      )
      .meta({ allowed: `100 to ${DAY_MS}` }),
    backgroundTimeoutMs: wholeNumber(1, DAY_MS)
      .default(600_000)
      .describe('Default timeout of an execution that runs, or continues, in the background. At least `timeoutMs`'),
    maxTimeoutMs: z.coerce
      .number()
      .int()
      .min(1)
      .max(DAY_MS)
      .default(DAY_MS)
      .describe('Maximum timeout that a caller may set'),
    maxPausedMs: z.coerce
      .number()
      .int()
      .min(0)
      .max(DAY_MS)
      .default(DAY_MS / 24)
      .describe(
        'Total time for which the timeout of one execution may be paused, while calls of its programs wait for work on the host, such as an installation of packages. CPU time still counts',
      ),
    maxCodeBytes: z.coerce
      .number()
      .int()
      .min(1)
      .max(MiB)
      .default(MiB)
      .describe('Maximum size of the code of an execution'),
    maxExecutions: wholeNumber(1, 10_000)
      .default(100)
      .describe(
        'Executions that a server runs at once; further ones are queued, round robin by owner. One owner over HTTP gets at most half of the places, so set at least 2 for several owners',
      ),
    maxPendingExecutions: wholeNumber(1, 100_000).default(100).describe('Running and queued executions of one owner'),
  }),
  ...grouped('Output and results', {
    structuredContent: z
      .enum(['on-request', 'always'])
      .default('on-request')
      .describe(
        'When replies of tools have `structuredContent` besides their text: `on-request`, for HTTP clients that send `Hotcell-Structured-Content: true`; `always`, for all. Some clients give it to the model instead of text and images: docs/tools.md',
      ),
    outputBytes: z.coerce
      .number()
      .int()
      .min(1024)
      .max(16 * MiB)
      .default(131_072)
      .describe('Output kept of each stream (stdout, stderr) in a result: the first and the last half'),
    logBytes: z.coerce
      .number()
      .int()
      .min(0)
      .max(16_384 * MiB)
      .default(64 * MiB)
      .describe('Maximum size of the log of one execution, which holds output that a result omits'),
    replyChars: wholeNumber(1000, 100_000)
      .default(16_000)
      .describe(
        'Characters of each text (stdout, stderr, a value, the message of an exception) in the reply of a tool; the log has the rest',
      ),
    recordBytes: z.coerce
      .number()
      .int()
      .min(0)
      .max(1024 * MiB)
      .default(8 * MiB)
      .describe('Record of each session for `exportNotebook`; the oldest outputs are dropped first'),
    keptExecutions: wholeNumber(1, 10_000).default(32).describe('Results kept for each session'),
    keptExecutionBytes: wholeNumber(0, 16_384 * MiB)
      .default(32 * MiB)
      .describe('Memory for the results of one session; the last result is always kept'),
    keptLogBytes: wholeNumber(0, 1_048_576 * MiB)
      .default(256 * MiB)
      .describe('Disk space for the logs of one session; the last log is always kept'),
    keptTotalBytes: wholeNumber(0, 1_048_576 * MiB)
      .default(512 * MiB)
      .describe(
        'Memory for the results of all sessions. The oldest results of the owner with the most are dropped first',
      ),
    keptTotalLogBytes: wholeNumber(0, 1_048_576 * MiB)
      .default(8192 * MiB)
      .describe('Disk space for the logs of all sessions'),
  }),
  ...grouped('Sessions', {
    maxSessions: wholeNumber(1, 10_000).default(200).describe('Open sessions of the server'),
    maxSessionsPerOwner: wholeNumber(1, 10_000).default(20).describe('Open sessions of one owner (token)'),
    maxOpenings: wholeNumber(1, 1000)
      .default(8)
      .describe(
        'Sandboxes that a server starts at once; further ones are queued, round robin by owner. One owner over HTTP gets at most half of the places, so set at least 2 for several owners',
      ),
    sessionIdleMs: wholeNumber(100, 30 * DAY_MS)
      .default(1_800_000)
      .describe('Idle timeout: a session is closed after this time without use'),
    sessionMaxAgeMs: wholeNumber(100, 30 * DAY_MS)
      .default(DAY_MS)
      .describe('Maximum age: a session is closed at this age, even if it is busy. Callers cannot exceed it'),
    maxMemoryBytes: wholeNumber(LEAST_LIMITS.memoryBytes, Number.MAX_SAFE_INTEGER)
      .default(8192 * MiB)
      .describe('Maximum memory limit that a client may set for one session'),
    maxMemoryBytesPerOwner: wholeNumber(LEAST_LIMITS.memoryBytes, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe(
        "Maximum total of the memory limits of one owner's open sessions; by default half of the host's memory, or 8 GiB if that is more and the host has it",
      )
      .meta({ allowed: `${LEAST_LIMITS.memoryBytes} or more` }),
    maxCpus: z.coerce
      .number()
      .min(LEAST_LIMITS.cpus)
      .max(MOST_CPUS)
      .default(8)
      .describe('Maximum number of CPUs that a client may set for one session'),
    maxProcesses: wholeNumber(LEAST_LIMITS.processes, MOST_PROCESSES)
      .default(4096)
      .describe('Maximum number of processes that a client may set for one session'),
    maxOpenFiles: wholeNumber(LEAST_LIMITS.openFiles, MOST_OPEN_FILES)
      .default(65_536)
      .describe('Maximum number of open files that a client may set for one session'),
    maxUploadBytes: wholeNumber(1, 1_048_576 * MiB)
      .default(1024 * MiB)
      .describe('Maximum size of a file that a client may write to a workspace'),
  }),
  ...grouped('Server', {
    profile: z
      .array(z.enum(PROFILE_NAMES))
      .min(1)
      .default(['hotcell'])
      .describe("Tools that the server offers: Hotcell's own, or those of another system under their names")
      .meta({ allowed: `a list of ${PROFILE_NAMES.map((name) => `\`${name}\``).join(', ')}` }),
    host: z.string().min(1).max(255).default('127.0.0.1').describe('Address that `hotcell serve` listens on'),
    port: wholeNumber(0, 65_535).default(7878).describe('Port that `hotcell serve` listens on; 0: any free port'),
    allowedHosts: z
      .array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9.-]*$/, { error: 'not the name of a host' }))
      .default([])
      .describe('Additional host names of the server, such as that of a reverse proxy. They make tokens required')
      .meta({ allowed: 'a list of host names' }),
    tokens: z
      .enum(['auto', 'always'])
      .default('auto')
      .describe(
        'When clients need a token: `auto`, all if other machines can reach the server, else (on Linux) those of other users; `always`, all in any case',
      ),
    metricsAccess: z
      .enum(['auto', 'owner', 'anyone', 'nobody'])
      .default('auto')
      .describe(
        'Access to `/metrics`, which counts the activity of all clients: `owner`, every client that may call `/mcp`; `auto`, the same, but no access if tokens are required',
      ),
    publicUrl: z
      .url({ protocol: /^https?$/, error: 'not an http or https address' })
      .optional()
      .describe('Base URL of links, if it differs from the address of the server')
      .meta({ allowed: 'an address' }),
    linkMs: wholeNumber(1000, 30 * DAY_MS)
      .default(3_600_000)
      .describe('Lifetime of a link to a file'),
    linkSecret: z
      .string()
      .min(32)
      .max(1024)
      .optional()
      .describe('Key that signs links; a key in the data folder by default')
      .meta({ allowed: 'at least 32 characters' }),
  }),
  ...grouped('Logging and audit', {
    logLevel: z
      .enum(['silent', 'error', 'warn', 'info', 'debug'])
      .default('info')
      .describe("Level of the server log. It never contains users' code"),
    logFile: z
      .string()
      .min(1)
      .optional()
      .describe('File of the server log; stderr by default')
      .meta({ allowed: 'a path' }),
    logFormat: z
      .enum(['json', 'console'])
      .default('json')
      .describe('Format of the server log: `json` for programs, `console` for people'),
    auditBytes: wholeNumber(0, 16_384 * MiB)
      .default(32 * MiB)
      .describe('Size at which the audit log (`audit/audit.jsonl` in the data folder) is rotated; 0 disables the log'),
    auditFiles: wholeNumber(1, 1000)
      .default(8)
      .describe('Files of the audit log that are kept, including the current one'),
  }),
});

export type Config = z.infer<typeof configSchema>;
