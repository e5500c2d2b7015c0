import { isAbsolute } from 'node:path';
import * as z from 'zod';
import { findProgram } from '../lib/find-program.ts';
import { readAtMost } from '../lib/read-at-most.ts';
import { runCommand } from '../lib/run-command.ts';
import { installerVariables } from './installer-variables.ts';
import { npmLoginFor, parseNpmLogins } from './npm-logins.ts';
import { type Login, type Registry, registryAt } from './registry.ts';

/** The settings of this machine's npm that decide where packages come from. */
export interface NpmSettings {
  /** Undefined if there is no npm here to ask. */
  readonly registry: Registry | undefined;
  /** Registries of scopes such as `@team`. */
  readonly scopes: ReadonlyMap<string, Registry>;
  readonly certificates: string | undefined;
}

const LARGEST_FILE_BYTES = 1_000_000;
const settingsSchema = z.record(z.string(), z.unknown());

/** Asks npm for its settings, from its files and variables; without an npm, the variable alone. */
export async function npmSettings(signal?: AbortSignal): Promise<NpmSettings> {
  const npm = findProgram('npm');
  const asked = npm && (await runCommand(npm, ['config', 'list', '--json'], { signal }));
  const output = asked && asked.exitCode === 0 ? asked.stdout : '';
  const env = installerVariables();
  return parseNpmSettings(output, env, parseNpmLogins(await Promise.all(settingsFiles(output).map(readText)), env));
}

/** Reads the output of `npm config list --json`, defaults included. npm does not show its logins there. */
export function parseNpmSettings(
  output: string,
  env: NodeJS.ProcessEnv,
  logins: ReadonlyMap<string, Login> = new Map(),
): NpmSettings {
  const settings = read(output);
  const at = (value: unknown) =>
    typeof value === 'string' ? registryAt(value, npmLoginFor(value, logins)) : undefined;
  const scopes = Object.entries(settings).flatMap(([key, value]) => {
    const [, scope] = /^(@[^:]+):registry$/.exec(key) ?? [];
    const registry = scope === undefined ? undefined : at(value);
    return registry === undefined ? [] : [[scope!, registry] as const];
  });
  return {
    registry: at(settings.registry) ?? at(env.npm_config_registry),
    scopes: new Map(scopes),
    certificates: typeof settings.cafile === 'string' && settings.cafile !== '' ? settings.cafile : undefined,
  };
}

/** The files that npm itself names: the user's, then the machine's. Its settings of a project are not read: Hotcell runs in any folder. */
function settingsFiles(output: string): string[] {
  const { userconfig, globalconfig } = read(output);
  return [userconfig, globalconfig].filter((file) => typeof file === 'string' && isAbsolute(file)) as string[];
}

async function readText(path: string): Promise<string> {
  try {
    return (await readAtMost(path, LARGEST_FILE_BYTES)).toString('utf8');
  } catch {
    return ''; // missing, or not ours to read
  }
}

function read(output: string): Record<string, unknown> {
  try {
    return settingsSchema.parse(JSON.parse(output));
  } catch {
    return {};
  }
}
