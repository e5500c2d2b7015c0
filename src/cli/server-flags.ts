import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { flagName, type OptionFlag, optionFlags } from '../config/flags.ts';
import { parseOptions } from '../config/parse-options.ts';
import { type Config, configSchema } from '../config/schema.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import { refuseLoopbackRules } from '../network/loopback-rules.ts';
import { namedFilePath, namedFolderPath } from './named-path.ts';
import { durationMs, sizeBytes } from './run/options.ts';

/** The values of the flags as typed, by commander's names. */
export type ServerFlags = Readonly<Record<string, unknown>>;

/** Adds a flag for every option of the schema that a server of this kind uses. */
export function addServerFlags(command: Command, kind: 'serve' | 'mcp'): Command {
  for (const flag of optionFlags(kind)) command.addOption(commanderOption(flag));
  return command;
}

function commanderOption(flag: OptionFlag): Option {
  const { name, kind, path, choices, description, group, byDefault, bare } = flag;
  const isList = kind === 'list';
  const value =
    flag.value ??
    path ??
    { text: 'text', number: 'number', size: 'size', duration: 'time', choice: 'name', list: 'name', names: 'names' }[
      kind
    ];
  const notes = [...(isList ? ['repeatable'] : []), ...(defaultText(kind, byDefault) ?? [])];
  const option = new Option(
    bare === undefined ? `${name} <${value}>` : `${name} [${value}]`,
    `${description}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}`,
  );
  option.helpGroup(`${group}:`);
  if (choices !== undefined) option.argChoices = [...choices];
  if (bare !== undefined) option.preset(bare);
  if (isList) option.argParser((typed: string, earlier: string[] | undefined) => [...(earlier ?? []), typed]);
  return option;
}

function defaultText(kind: OptionFlag['kind'], value: unknown): string[] | undefined {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return undefined;
  if (Array.isArray(value)) return [`default: ${value.join(', ')}`];
  const number = Number(value);
  if (kind === 'size')
    return [
      `default: ${withUnit(number, [
        ['g', 1024 ** 3],
        ['m', 1024 ** 2],
        ['k', 1024],
      ])}`,
    ];
  if (kind === 'duration')
    return [
      `default: ${withUnit(number, [
        ['h', 3_600_000],
        ['m', 60_000],
        ['s', 1000],
        ['ms', 1],
      ])}`,
    ];
  return [`default: ${value}`];
}

/** The number in the largest unit that divides it: `2g`, `90s`. */
function withUnit(value: number, units: readonly (readonly [string, number])[]): string {
  const found = units.find(([, size]) => value >= size && value % size === 0);
  return found === undefined ? String(value) : `${value / found[1]}${found[0]}`;
}

/** The options that flags set. Throws `invalid_argument`, which names the flag. */
export function optionsFromFlags(kind: 'serve' | 'mcp', flags: ServerFlags): Partial<Config> {
  const given = Object.assign({}, ...givenFlags(kind, flags).map(({ options }) => options)) as Partial<Config>;
  if (given.network !== undefined) refuseLoopbackRules(given.network);
  // Who opens the network on the command line means the sessions, not only what they may ask for.
  return given.network === undefined ? given : { sessionNetwork: given.network, ...given };
}

/** The flags that were given, as arguments for `hotcell mcp`: checked, and with absolute paths. */
export function argumentsOf(kind: 'serve' | 'mcp', flags: ServerFlags): string[] {
  return givenFlags(kind, flags).flatMap(({ name, texts }) => texts.flatMap((text) => [name, text]));
}

/** The values of the flags of these options as they were typed. */
export function typedPaths(flags: ServerFlags): Partial<Pick<Config, 'loadRoots' | 'mountRoots' | 'logFile'>> {
  const typed = (option: OptionFlag['option']) => flags[new Option(flagName(option)).attributeName()];
  return {
    loadRoots: (typed('loadRoots') ?? []) as string[],
    mountRoots: (typed('mountRoots') ?? []) as string[],
    logFile: typed('logFile') as string | undefined,
  };
}

interface Given {
  readonly name: string;
  readonly texts: readonly string[];
  readonly options: Partial<Config>;
}

function givenFlags(kind: 'serve' | 'mcp', flags: ServerFlags): Given[] {
  return optionFlags(kind).flatMap((flag) => {
    const { option, name } = flag;
    const typed = flags[new Option(name).attributeName()] as string | readonly string[] | undefined;
    if (typed === undefined) return [];
    const texts = (typeof typed === 'string' ? [typed] : typed).map((text) => placed(flag, text));
    const value = flag.kind === 'list' ? texts : valueFrom(flag, texts[0]!);
    const schema = configSchema.pick({ [option]: true } as Record<typeof option, true>);
    const wording = { nameOf: () => name, remedy: REMEDIES[option] ?? 'Run with --help to see what is allowed.' };
    return [{ name, texts, options: checked(() => parseOptions(schema, { [option]: value }, wording)) }];
  });
}

const DOCTOR = 'Run `hotcell doctor` to see which drivers work here.';
const REMEDIES: Readonly<Partial<Record<keyof Config, string>>> = { isolation: DOCTOR, minIsolation: DOCTOR };

/** The place of an item in a list means nothing to who typed it: `--profile: x`, not `--profile.0: x`. */
function checked(parse: () => object): Partial<Config> {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof HotcellError)) throw error;
    const { code, message, remedy } = error;
    throw new HotcellError(code, message.replace(/^(--[\w-]+)\.\d+:/, '$1:'), remedy === undefined ? {} : { remedy });
  }
}

/**
 * SECURITY: a path below the current folder is resolved without links (`named-path.ts`). Of a path that is denied, both
 * the link and its target are (`followedPlaces`).
 */
function placed({ path }: OptionFlag, text: string): string {
  if (path === undefined) return text;
  if (path === 'file') return namedFilePath(text);
  return path === 'path' ? resolve(text) : namedFolderPath(text);
}

function valueFrom({ kind, name }: OptionFlag, text: string): unknown {
  if (kind === 'names') return text.split(',').map((each) => each.trim());
  // Zero, which some options take, has no unit.
  if (kind === 'size') return text === '0' ? 0 : sizeBytes(name, text);
  if (kind === 'duration') return durationMs(name, text);
  return text;
}
