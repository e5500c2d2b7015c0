import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type ParseError, parse, parseTree, printParseErrorCode, stripComments } from 'jsonc-parser';
import { HotcellError } from '../errors/hotcell-error.ts';
import { excessIn } from '../lib/json-limits.ts';
import { nearestName } from '../lib/nearest-name.ts';
import { requireTrusted } from '../lib/own-folder.ts';
import { shellQuoted } from '../lib/shell-quoted.ts';
import { UntrustedPathError } from '../lib/untrusted-path.ts';
import { PROFILE_SETTINGS } from './profiles/index.ts';
import { configSchema } from './schema.ts';

/** The options of a configuration file, not validated yet. */
export interface ConfigFile {
  readonly path: string;
  readonly options: Readonly<Record<string, unknown>>;
  /** Settings of profiles, by the profile's name. */
  readonly profiles: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const MOST_BYTES = 1_048_576;

/**
 * Reads a configuration file: JSON with comments and trailing commas. Undefined if there is none and it is not
 * required. Throws `invalid_argument` if it is invalid. SECURITY: the file decides which folders may be mounted and
 * which isolation is sufficient, so no other user may write to it or replace it.
 */
export function readConfigFile(path: string, { required = false } = {}): ConfigFile | undefined {
  const text = textOf(path, required);
  if (text === undefined) return undefined;
  const { $schema: _, profiles = {}, ...options } = tableOf(parsed(text, path), path, '');
  requireKnown(Object.keys(options), [...Object.keys(configSchema.shape), 'profiles'], path);
  const byProfile = Object.entries(tableOf(profiles, path, 'profiles'));
  requireKnown(
    byProfile.map(([name]) => name),
    Object.keys(PROFILE_SETTINGS),
    `${path}: profiles`,
  );
  for (const [name, settings] of byProfile) {
    const known = PROFILE_SETTINGS[name as keyof typeof PROFILE_SETTINGS]!.schema.shape;
    const place = `profiles.${name}`;
    requireKnown(Object.keys(tableOf(settings, path, place)), Object.keys(known), `${path}: ${place}`);
  }
  // SECURITY: with this secret another user could sign links to the files of every session.
  if (options.linkSecret !== undefined && othersMayRead(path))
    throw refused(path, 'has linkSecret, and other users can read it', `Run: chmod 600 ${shellQuoted(path)}`);
  return { path, options, profiles: profiles as ConfigFile['profiles'] };
}

/** Whether users other than the owner and the group can read the file, including access to its folders. */
function othersMayRead(path: string): boolean {
  if (process.platform === 'win32') return false;
  const real = realpathSync(path);
  if ((statSync(real).mode & 0o004) === 0) return false;
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

function textOf(path: string, required: boolean): string | undefined {
  try {
    const stats = statSync(path);
    if (!stats.isFile()) throw refused(path, 'is not a file', 'Name a file.');
    if (stats.size > MOST_BYTES) throw refused(path, `has more than ${MOST_BYTES} bytes`, 'Make it smaller.');
    requireTrusted(path);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof HotcellError) throw error;
    if (error instanceof UntrustedPathError) {
      const remedy = error.command === undefined ? 'Use a file of your own.' : `Look at it, then run: ${error.command}`;
      throw new HotcellError('invalid_argument', `the configuration file cannot be used: ${error.message}`, { remedy });
    }
    const { code } = error as NodeJS.ErrnoException;
    if (!required && (code === 'ENOENT' || code === 'ENOTDIR')) return undefined;
    throw refused(path, `cannot be read (${code})`, 'Check the path and its permissions.');
  }
}

function parsed(text: string, path: string): unknown {
  // SECURITY: parsers call themselves for each level, and the file may be a project's.
  const excess = excessIn(stripComments(text));
  if (excess !== undefined) throw refused(path, `has ${excess}`, 'Make it smaller.');
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    const before = text.slice(0, error.offset).split('\n');
    const place = `line ${before.length}, column ${before.at(-1)!.length + 1}`;
    throw refused(path, `is not JSON: ${printParseErrorCode(error.error)} at ${place}`, 'Correct it there.');
  }
  const twice = repeatedMember(text);
  if (twice !== undefined) throw refused(path, `sets ${twice} twice`, 'Keep one of them.');
  return value;
}

/** The name of a duplicate member of the outermost object. A parser would silently use the last one. */
function repeatedMember(text: string): string | undefined {
  const members = parseTree(text, [], { allowTrailingComma: true })?.children ?? [];
  const seen = new Set<string>();
  for (const { children } of members) {
    const name = String(children?.[0]?.value);
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}

function tableOf(value: unknown, path: string, place: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw refused(path, `${place === '' ? '' : `${place} `}is not an object`, 'Write { "option": value, … }.');
}

function requireKnown(names: readonly string[], known: readonly string[], place: string): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new HotcellError('invalid_argument', `${place}: there is no option ${JSON.stringify(unknown)}`, {
    remedy: `Did you mean ${nearestName(unknown, known)}? docs/configuration.md lists all options.`,
  });
}

function refused(path: string, problem: string, remedy: string): HotcellError {
  return new HotcellError('invalid_argument', `the configuration file ${path} ${problem}`, { remedy });
}
