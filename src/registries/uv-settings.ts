import { join } from 'node:path';
import { parse } from 'smol-toml';
import * as z from 'zod';
import { readAtMost } from '../lib/read-at-most.ts';
import { absolutePath, configFolder, systemConfigFolders } from '../lib/user-folders.ts';
import { installerVariables } from './installer-variables.ts';
import type { Login } from './registry.ts';

/** The settings of this machine's uv that decide where packages come from: its variables, and its files outside of projects. */
export interface UvSettings {
  readonly index: UvIndex | undefined;
  readonly extraIndexes: readonly UvIndex[];
  readonly findLinks: readonly string[];
  readonly insecureHosts: readonly string[];
  readonly noIndex: boolean;
  readonly strategy: string | undefined;
}

export interface UvIndex {
  readonly address: string;
  readonly login?: Login;
}

const LARGEST_FILE_BYTES = 1_000_000;

const listedIndexSchema = z.object({
  name: z.string().optional(),
  url: z.string(),
  default: z.boolean().optional(),
  /** Only for packages that a project ties to it. */
  explicit: z.boolean().optional(),
});

const placesSchema = z.object({
  'index-url': z.string().optional(),
  'extra-index-url': z.array(z.string()).optional(),
  'find-links': z.array(z.string()).optional(),
  'no-index': z.boolean().optional(),
  'index-strategy': z.string().optional(),
  'allow-insecure-host': z.array(z.string()).optional(),
  index: z.array(listedIndexSchema).optional(),
});

const fileSchema = placesSchema.extend({ pip: placesSchema.optional() });

/** Reads uv's variables, and the files of the user and the system. */
export async function uvSettings(env: NodeJS.ProcessEnv = installerVariables()): Promise<UvSettings> {
  const texts = await Promise.all(settingsFiles(env).map(readText));
  return parseUvSettings(texts, env);
}

/** `texts` are the contents of `uv.toml` files, the one that counts most first. One that uv could not read either is passed over. */
export function parseUvSettings(texts: readonly string[], env: NodeJS.ProcessEnv): UvSettings {
  const files = texts.flatMap(readPlaces);
  const first = <K extends keyof z.infer<typeof placesSchema>>(key: K) =>
    files.map((file) => file[key]).find((value) => value !== undefined);
  const listed = files.flatMap(({ index }) => index ?? []).filter(({ explicit }) => explicit !== true);
  const named = (index: z.infer<typeof listedIndexSchema>) => uvIndex(index.url, index.name, env);
  const plain = (address: string | undefined) => (address ? uvIndex(address, undefined, env) : undefined);
  const chosen = listed.find((index) => index.default === true);
  const extras = [...words(env.UV_INDEX), ...words(env.UV_EXTRA_INDEX_URL)].map((word) => namedWord(word, env));
  return {
    index:
      (env.UV_DEFAULT_INDEX ? namedWord(env.UV_DEFAULT_INDEX, env) : plain(env.UV_INDEX_URL)) ??
      (chosen === undefined ? plain(first('index-url')) : named(chosen)),
    extraIndexes: [
      ...extras,
      ...listed.filter((index) => index.default !== true).map(named),
      ...(extras.length > 0 ? [] : (first('extra-index-url') ?? []).map((address) => uvIndex(address, undefined, env))),
    ],
    findLinks: env.UV_FIND_LINKS ? env.UV_FIND_LINKS.split(',').filter(Boolean) : (first('find-links') ?? []),
    insecureHosts: env.UV_INSECURE_HOST ? words(env.UV_INSECURE_HOST) : (first('allow-insecure-host') ?? []),
    noIndex: first('no-index') ?? false,
    strategy: env.UV_INDEX_STRATEGY || first('index-strategy'),
  };
}

/** The names of uv's own files. Its settings of a project are not read: Hotcell runs in any folder. */
function settingsFiles(env: NodeJS.ProcessEnv): string[] {
  if (/^(1|t|y|yes|true|on)$/i.test(env.UV_NO_CONFIG ?? '')) return [];
  const named = absolutePath(env.UV_CONFIG_FILE);
  if (named !== undefined) return [named];
  return [configFolder(env), ...systemConfigFolders(env), '/etc'].map((folder) => join(folder, 'uv', 'uv.toml'));
}

async function readText(path: string): Promise<string> {
  try {
    return (await readAtMost(path, LARGEST_FILE_BYTES)).toString('utf8');
  } catch {
    return ''; // missing, or not ours to read
  }
}

/** The table `pip` counts more: it is for `uv pip`, which installs our layers. */
function readPlaces(text: string): z.infer<typeof placesSchema>[] {
  try {
    const { pip, ...places } = fileSchema.parse(parse(text));
    return pip === undefined ? [places] : [pip, places];
  } catch {
    return [];
  }
}

function words(text: string | undefined): string[] {
  return text?.split(/\s+/).filter(Boolean) ?? [];
}

/** `name=https://…`, or the address alone. */
function namedWord(word: string, env: NodeJS.ProcessEnv): UvIndex {
  const [, name, address] = /^([A-Za-z0-9_.-]+)=(.*)$/.exec(word) ?? [];
  return address === undefined ? uvIndex(word, undefined, env) : uvIndex(address, name, env);
}

function uvIndex(address: string, name: string | undefined, env: NodeJS.ProcessEnv): UvIndex {
  const key = name?.toUpperCase().replace(/[^A-Z0-9]/g, '_');
  const username = key && env[`UV_INDEX_${key}_USERNAME`];
  const password = key && env[`UV_INDEX_${key}_PASSWORD`];
  if (!username && !password) return { address };
  return { address, login: { username: username || '', password: password || '' } };
}
