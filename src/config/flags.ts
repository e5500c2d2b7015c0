import * as z from 'zod';
import { type Config, configSchema } from './schema.ts';

export type OptionName = keyof Config;

/** `path`: one that is denied, which may be anything, or missing. */
type PathKind = 'folder' | 'file' | 'path';

/** An option of the schema as a flag of the command line. */
export interface OptionFlag {
  readonly option: OptionName;
  /** `--max-memory`. */
  readonly name: string;
  readonly kind: 'text' | 'number' | 'size' | 'duration' | 'choice' | 'list' | 'names';
  /** The word for its value in the help, if the kind is not enough. */
  readonly value?: string;
  /** Whether the value is a path of this machine. */
  readonly path?: PathKind;
  readonly choices?: readonly string[];
  /** The value of the flag without one. */
  readonly bare?: string;
  readonly description: string;
  readonly group: string;
  readonly byDefault?: unknown;
}

/**
 * Options without a flag: objects, which belong into a file, and secrets. SECURITY: every user of a machine can read the
 * command lines of others.
 */
const WITHOUT_FLAG: ReadonlySet<OptionName> = new Set(['linkSecret', 'recipes', 'forwards', 'credentials']);

/** Options that only `hotcell serve` uses. */
const OF_HTTP: ReadonlySet<OptionName> = new Set([
  ...(['host', 'port', 'allowedHosts', 'tokens', 'metricsAccess', 'publicUrl', 'allowedImages'] as const),
  ...(['maxSessionsPerOwner', 'maxMemoryBytesPerOwner', 'maxConnectionsPerOwner'] as const),
]);

/** Flags whose name is not that of the option: those that other commands have already, and `-size` where it would mislead. */
const NAMES: Readonly<Partial<Record<OptionName, string>>> = {
  memoryBytes: '--memory',
  maxMemoryBytes: '--max-memory',
  maxMemoryBytesPerOwner: '--max-memory-per-owner',
  maxUploadBytes: '--max-upload',
  maxSentBytes: '--max-sent',
  maxReceivedBytes: '--max-received',
  linkMs: '--link-lifetime',
  builderMemoryBytes: '--builder-memory',
  packageBytesPerOwner: '--package-size-per-owner',
};

/** What the help calls a value, where the kind of the option does not say it. */
const VALUES: Readonly<Partial<Record<OptionName, string>>> = {
  network: 'rule',
  sessionNetwork: 'rule',
  image: 'name',
  host: 'address',
  publicUrl: 'url',
};

const PATHS: Readonly<Partial<Record<OptionName, PathKind>>> = {
  mountRoots: 'folder',
  mountDenied: 'path',
  loadRoots: 'folder',
  loadDenied: 'path',
  logFile: 'file',
};

const BARE: Readonly<Partial<Record<OptionName, string>>> = { structuredContent: 'always' };

/** The flags of a server, in the order of docs/configuration.md. A new option of the schema is a flag without further ado. */
export function optionFlags(forCommand: 'serve' | 'mcp'): OptionFlag[] {
  return (Object.keys(configSchema.shape) as OptionName[])
    .filter((option) => !WITHOUT_FLAG.has(option) && (forCommand === 'serve' || !OF_HTTP.has(option)))
    .map(flagOf);
}

/** The flag of an option: `mountRoots` → `--mount-root`, which is repeatable; `timeoutMs` → `--timeout`, which takes units. */
export function flagName(option: OptionName): string {
  const listed = kindOf(option) === 'list' ? option.replace(/s$/, '') : option;
  const word = listed.replace(/Ms$/, '').replace(/Bytes$/, 'Size');
  return NAMES[option] ?? `--${word.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function flagOf(option: OptionName): OptionFlag {
  const schema: z.ZodType = configSchema.shape[option];
  const { description = '', group } = schema.meta() as { description?: string; group: string };
  const inner = unwrapped(schema);
  const path = PATHS[option];
  return {
    ...{ option, name: flagName(option), kind: kindOf(option), group },
    description: description.replaceAll('`', ''),
    ...(VALUES[option] === undefined ? {} : { value: VALUES[option] }),
    ...(path === undefined ? {} : { path }),
    ...(BARE[option] === undefined ? {} : { bare: BARE[option] }),
    ...(inner instanceof z.ZodEnum ? { choices: inner.options as string[] } : {}),
    ...(schema instanceof z.ZodDefault ? { byDefault: schema.def.defaultValue } : {}),
  };
}

function kindOf(option: OptionName): OptionFlag['kind'] {
  const inner = unwrapped(configSchema.shape[option]);
  if (inner instanceof z.ZodArray) return inner.element instanceof z.ZodEnum ? 'names' : 'list';
  if (inner instanceof z.ZodEnum) return 'choice';
  if (!(inner instanceof z.ZodNumber)) return 'text';
  if (option.endsWith('Ms')) return 'duration';
  return /Bytes(PerOwner)?$/.test(option) ? 'size' : 'number';
}

function unwrapped(schema: z.ZodType): z.ZodType {
  const isWrapper = schema instanceof z.ZodDefault || schema instanceof z.ZodOptional;
  return isWrapper ? unwrapped(schema.unwrap() as z.ZodType) : schema;
}
