import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { HotcellError } from '../errors/hotcell-error.ts';
import { type CodeSandboxSettings, codeSandboxSchema, serverDefaults } from './code-sandbox.ts';
import { complaint } from './complaint.ts';
import { type Config, configSchema } from './schema.ts';

/** Options as given, then the environment, then defaults. The only reader of `process.env`. */
export function loadConfig(given: Partial<Config> = {}, env: NodeJS.ProcessEnv = process.env): Config {
  const fromEnvironment: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(configSchema.shape)) {
    const value = env[environmentName(name)];
    if (value === undefined || value === '') continue;
    fromEnvironment[name] = fromText(name, schema, value);
  }
  const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const profile = defined.profile ?? fromEnvironment.profile;
  const nameOf = (option: string) =>
    option in fromEnvironment && !(option in defined) ? environmentName(option) : option;
  return parseOptions(configSchema, { ...profileDefaults(profile, env), ...fromEnvironment, ...defined }, { nameOf });
}

/** A profile brings defaults of its own; what is said by an option of ours still wins. */
function profileDefaults(profile: unknown, env: NodeJS.ProcessEnv): Partial<Config> {
  if (!Array.isArray(profile) || !profile.includes('code-sandbox')) return {};
  // Alone it is as isolated as the system that it stands in for; beside others, each session says it for itself.
  return { ...serverDefaults(loadCodeSandbox(env)), ...(profile.length === 1 ? { isolation: 'docker' } : {}) };
}

/** The settings of the profile `code-sandbox`, from the variables `SANDBOX_…`. */
export function loadCodeSandbox(env: NodeJS.ProcessEnv = process.env): CodeSandboxSettings {
  const settings: Record<string, unknown> = {};
  for (const name of Object.keys(codeSandboxSchema.shape)) {
    const value = env[environmentName(name, 'SANDBOX')];
    if (value === undefined || value === '') continue;
    settings[name] = name === 'logLevel' ? value.toUpperCase() : name === 'logFormat' ? value.toLowerCase() : value;
  }
  return parseOptions(codeSandboxSchema, settings, { nameOf: (option) => environmentName(option, 'SANDBOX') });
}

/** Parses options, turning the first complaint into an error that names the option as whoever set it does. */
export function parseOptions<Schema extends z.ZodType>(
  schema: Schema,
  options: unknown,
  { nameOf = (option) => option, remedy = 'See docs/configuration.md for what is allowed.' }: Wording = {},
): z.infer<Schema> {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  throw new HotcellError('invalid_argument', complaint(parsed.error.issues[0]!, options, nameOf), { remedy });
}

interface Wording {
  readonly nameOf?: (option: string) => string;
  readonly remedy?: string;
}

/** By which a program of the command line proves to a server who it is. Not an option: a server has no use for it. */
export function tokenFromEnvironment(env: NodeJS.ProcessEnv = process.env): string | undefined {
  return env.HOTCELL_TOKEN || undefined;
}

/** `maxSessions` → `HOTCELL_MAX_SESSIONS` */
export function environmentName(option: string, prefix = 'HOTCELL'): string {
  return `${prefix}_${option.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

function fromText(name: string, schema: z.ZodType, value: string): unknown {
  if (name !== 'recipes') return isList(schema) ? value.split(',').filter(Boolean) : value;
  try {
    return JSON.parse(value);
  } catch {
    throw new HotcellError('invalid_argument', `${environmentName(name)}: not JSON`, {
      remedy: 'Give a list of recipes, as docs/guides/languages.md shows them.',
    });
  }
}

function isList(schema: z.ZodType): boolean {
  return schema instanceof z.ZodDefault ? isList(schema.unwrap() as z.ZodType) : schema instanceof z.ZodArray;
}

/** Where Hotcell keeps what it makes: environments, built programs, records of sessions. */
export function resolveDataDir(env: NodeJS.ProcessEnv = process.env): string {
  if (env.HOTCELL_HOME) return resolve(env.HOTCELL_HOME);
  // Root's home is closed to the unprivileged user that sandboxes run as.
  if (process.getuid?.() === 0) return '/var/lib/hotcell';
  if (env.XDG_DATA_HOME) return resolve(env.XDG_DATA_HOME, 'hotcell');
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'hotcell');
  return join(homedir(), '.local', 'share', 'hotcell');
}

/** A socket's path has 107 characters; `/<server>/jails/<jail>/control/control` takes 52 of them. Node cuts a longer path off, and says nothing. */
const LONGEST_SOCKET_FOLDER = 55;

/**
 * Where sockets and jails' folders go: short, because the path of a socket must be, and open to the jail's user on the way. It follows from the
 * data folder and not from how that was named: servers of one installation must find each other's locks, or they take each other for dead.
 */
export function resolveRunDir(dataDir: string, env: NodeJS.ProcessEnv = process.env): string {
  const uid = process.getuid?.() ?? 0;
  const isStandard = dataDir === resolveDataDir({ ...env, HOTCELL_HOME: undefined });
  if (!isStandard && dataDir.length + '/run'.length <= LONGEST_SOCKET_FOLDER) return join(dataDir, 'run');
  if (uid === 0) return '/run/hotcell';
  if (env.XDG_RUNTIME_DIR) return join(env.XDG_RUNTIME_DIR, 'hotcell');
  return join(tmpdir(), `hotcell-${uid}`);
}
