import { join, resolve } from 'node:path';
import type * as z from 'zod';
import { nearestName } from '../lib/nearest-name.ts';
import { dataFolder, homeFolder, runtimeFolder, temporaryFolder } from '../lib/user-folders.ts';
import { type ConfigFile, readConfigFile } from './config-file.ts';
import { environmentName, optionsFromEnvironment } from './environment.ts';
import { parseOptions } from './parse-options.ts';
import { profileDefaults, readSettings } from './profile-settings.ts';
import type { ProfileSettings } from './profiles/define-settings.ts';
import { type Config, configSchema, type ProfileName } from './schema.ts';

/** Sources of options. Tests pass their own; other callers use those of the process. */
export interface ConfigSources {
  readonly env?: NodeJS.ProcessEnv;
  /** The data folder, whose `config.json` is read. */
  readonly dataDir?: string;
}

/** Source of the value of one option. */
export type Origin =
  | { readonly kind: 'given' }
  | { readonly kind: 'environment'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'profile'; readonly name: ProfileName }
  | { readonly kind: 'default' };

/** The effective options. Precedence: as given, then from the environment, then from the configuration file, then from the profile, then the defaults. */
export function loadConfig(given: Partial<Config> = {}, sources: ConfigSources = {}): Config {
  return explainConfig(given, sources).config;
}

/** The effective options, with the source of each value. */
export function explainConfig(
  given: Partial<Config>,
  { env = process.env, dataDir = resolveDataDir(env) }: ConfigSources = {},
): { readonly config: Config; readonly origins: Readonly<Record<keyof Config, Origin>>; readonly file?: ConfigFile } {
  const file = configFileOf(env, dataDir);
  const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const fromEnvironment = optionsFromEnvironment(env);
  const explicit = { ...file?.options, ...fromEnvironment, ...defined };
  const explicitOrigin = (option: string): Origin | undefined => {
    if (option in defined) return { kind: 'given' };
    if (option in fromEnvironment) return { kind: 'environment', name: environmentName(option) };
    return file !== undefined && option in file.options ? { kind: 'file', path: file.path } : undefined;
  };
  const nameOf = (option: string) => {
    const origin = explicitOrigin(option);
    if (origin?.kind === 'file') return `${origin.path}: ${option}`;
    return origin?.kind === 'environment' ? origin.name : option;
  };
  const { profile } = parseOptions(configSchema.pick({ profile: true }), pick(explicit, 'profile'), { nameOf });
  const fromProfiles = profileDefaults(profile, { env, file });
  const defaults = Object.fromEntries([...fromProfiles].map(([option, { value }]) => [option, value]));
  const config = parseOptions(configSchema, { ...defaults, ...explicit }, { nameOf });
  const originOf = (option: string): Origin => {
    const name = fromProfiles.get(option)?.profile;
    return explicitOrigin(option) ?? (name === undefined ? { kind: 'default' } : { kind: 'profile', name });
  };
  const options = Object.keys(configSchema.shape) as (keyof Config)[];
  const origins = Object.fromEntries(options.map((option) => [option, originOf(option)])) as Record<
    keyof Config,
    Origin
  >;
  return { config, origins, ...(file === undefined ? {} : { file }) };
}

/**
 * SECURITY: reads the file in the data folder, or the one that the caller named. Never one in the current folder: a
 * repository must not configure its own sandbox.
 */
function configFileOf(env: NodeJS.ProcessEnv, dataDir: string): ConfigFile | undefined {
  return readConfigFile(configFilePath(dataDir, env), { required: Boolean(env.HOTCELL_CONFIG) });
}

export function configFilePath(dataDir: string, env: NodeJS.ProcessEnv = process.env): string {
  return env.HOTCELL_CONFIG ? resolve(env.HOTCELL_CONFIG) : join(dataDir, 'config.json');
}

/** Environment variables that look like options but are not: probably typos. */
export function configWarnings(env: NodeJS.ProcessEnv = process.env): string[] {
  const known = new Set([...Object.keys(configSchema.shape).map((name) => environmentName(name)), ...OTHER_VARIABLES]);
  return Object.keys(env)
    .filter((name) => name.startsWith('HOTCELL_') && !known.has(name))
    .map((name) => `${name} is not an option; did you mean ${nearestName(name, [...known])}?`);
}

/** Variables that are not options: the data folder, the configuration file, and the token of `hotcell run --server`. */
const OTHER_VARIABLES = ['HOTCELL_HOME', 'HOTCELL_CONFIG', 'HOTCELL_TOKEN'];

/** The paths that the environment names, by the variable. */
export function pathsFromEnvironment(env: NodeJS.ProcessEnv = process.env): Record<string, string | undefined> {
  const { HOTCELL_HOME, HOTCELL_CONFIG } = env;
  return { HOTCELL_HOME, HOTCELL_CONFIG };
}

/** Makes this process read that configuration file. For the flag `--config`, before anything reads an option. */
export function useConfigFile(path: string): void {
  process.env.HOTCELL_CONFIG = resolve(path);
}

/** The settings of one profile, from the sources of this process. */
export function loadSettings<Schema extends z.ZodObject>(
  settings: ProfileSettings<Schema>,
  { env = process.env, dataDir = resolveDataDir(env) }: ConfigSources = {},
): z.infer<Schema> {
  return readSettings(settings, { env, file: configFileOf(env, dataDir) });
}

function pick(options: Readonly<Record<string, unknown>>, name: string): Record<string, unknown> {
  return name in options ? { [name]: options[name] } : {};
}

/** Token that the command line sends to a server. It is not an option: a server does not use it. */
export function tokenFromEnvironment(env: NodeJS.ProcessEnv = process.env): string | undefined {
  return env.HOTCELL_TOKEN || undefined;
}

/** The variables that secrets of credentials are read from. */
export function secretVariables(
  { credentials }: Pick<Config, 'credentials'>,
  env: NodeJS.ProcessEnv = process.env,
): Record<string, string | undefined> {
  const names = Object.values(credentials).flatMap(({ secret }) => ('env' in secret ? [secret.env] : []));
  return Object.fromEntries(names.map((name) => [name, env[name]]));
}

/** How the host itself reaches the network: its proxies, and files with the certificates that it trusts. */
export function networkEnvironment(env: NodeJS.ProcessEnv = process.env): Record<string, string | undefined> {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'];
  const all = [...names, ...names.map((name) => name.toLowerCase()), 'SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'];
  return Object.fromEntries(all.map((name) => [name, env[name]]));
}

/** The user that this process runs as, and the one who started it with sudo, for a server that serves both. */
export function servingUser(env: NodeJS.ProcessEnv = process.env): { uid: number | undefined; sudoUid?: number } {
  const uid = process.geteuid?.();
  return uid === 0 && /^\d+$/.test(env.SUDO_UID ?? '') ? { uid, sudoUid: Number(env.SUDO_UID) } : { uid };
}

/** The data folder: environments, built programs, records of sessions. */
export function resolveDataDir(env: NodeJS.ProcessEnv = process.env): string {
  if (env.HOTCELL_HOME) return resolve(env.HOTCELL_HOME);
  // Root's home is inaccessible for the unprivileged user that sandboxes run as.
  if (process.getuid?.() === 0) return '/var/lib/hotcell';
  const named = dataFolder(env);
  if (named !== undefined) return join(named, 'hotcell');
  if (process.platform === 'darwin') return join(homeFolder(), 'Library', 'Application Support', 'hotcell');
  return join(homeFolder(), '.local', 'share', 'hotcell');
}

/** A socket's path has 107 characters; `/<server>/jails/<jail>/control/control` takes 52 of them. Node truncates a longer path silently. */
const LONGEST_SOCKET_FOLDER = 55;

/**
 * The run folder, for sockets and folders of jails. Its path is short, because socket paths must be, and the jail's user can traverse it. Servers of one installation may have
 * different ones, since XDG_RUNTIME_DIR is set in some environments and not in others; they find each other through the data folder (`sessions/server-lock.ts`).
 */
export function resolveRunDir(dataDir: string, env: NodeJS.ProcessEnv = process.env): string {
  const uid = process.getuid?.() ?? 0;
  const isStandard = dataDir === resolveDataDir({ ...env, HOTCELL_HOME: undefined });
  if (!isStandard && dataDir.length + '/run'.length <= LONGEST_SOCKET_FOLDER) return join(dataDir, 'run');
  if (uid === 0) return '/run/hotcell';
  const sockets = runtimeFolder(env);
  return sockets === undefined ? temporaryRunDir(uid) : join(sockets, 'hotcell');
}

/** The run folder of an unprivileged user without XDG_RUNTIME_DIR: under cron, in containers, after `su`. */
export function temporaryRunDir(uid: number): string {
  return join(temporaryFolder(), `hotcell-${uid}`);
}
