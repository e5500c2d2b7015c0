import { strToU8, zipSync } from 'fflate';
import { HotcellError } from '../../../errors/hotcell-error.ts';
import { normalizeName, parsePythonRequirement } from '../../request/python-requirement.ts';

/** The facts about a package of the workspace that a resolver needs. */
export interface LocalFacts {
  readonly name: string;
  readonly version: string;
  /** Requirements, in canonical form. */
  readonly requires: readonly string[];
  readonly requiresPython: string | undefined;
  readonly extras: readonly string[];
}

const MOST_REQUIREMENTS = 500;

/**
 * Reads the metadata of a built wheel. Throws `invalid_argument` if a requirement is not a package of a registry.
 *
 * SECURITY: the facts leave the builder that holds the session's files for one with a network. So only names, versions and markers pass, in a grammar of our own, as
 * they do in a request.
 */
export function readMetadata(text: string): LocalFacts {
  const [head = ''] = text.split(/\r?\n\r?\n/, 1);
  const fields = head.split(/\r?\n(?![ \t])/).map((line) => /^([A-Za-z-]+):\s*(.*)$/s.exec(line));
  const all = (name: string) =>
    fields.flatMap((field) => (field?.[1]?.toLowerCase() === name ? [field[2]!.trim()] : []));
  const [name = '', version = ''] = [all('name')[0], all('version')[0]];
  const [requiresPython] = all('requires-python');
  const requires = all('requires-dist');
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) || !isVersion(version)) throw unreadable('has no name or version');
  if (requires.length > MOST_REQUIREMENTS) throw unreadable('needs too many packages');
  if (requiresPython !== undefined && !/^[A-Za-z0-9 .,*<>=!~]{1,200}$/.test(requiresPython))
    throw unreadable('has no valid Requires-Python');
  return {
    name: normalizeName(name),
    version,
    requires: requires.map((one) => requirement(one)),
    requiresPython,
    extras: all('provides-extra')
      .map(normalizeName)
      .filter((extra) => /^[a-z0-9-]{1,100}$/.test(extra)),
  };
}

/** A wheel without contents, by which a resolver learns of the requirements. Returns its file name. */
export function stubWheel({ name, version, requires, requiresPython, extras }: LocalFacts): {
  file: string;
  content: Uint8Array;
} {
  const base = `${name.replaceAll('-', '_')}-${version.replaceAll('-', '_')}`;
  const folder = `${base}.dist-info`;
  const metadata = [
    ...['Metadata-Version: 2.1', `Name: ${name}`, `Version: ${version}`],
    ...(requiresPython === undefined ? [] : [`Requires-Python: ${requiresPython}`]),
    ...extras.map((extra) => `Provides-Extra: ${extra}`),
    ...requires.map((one) => `Requires-Dist: ${one}`),
  ];
  const wheel = 'Wheel-Version: 1.0\nGenerator: hotcell\nRoot-Is-Purelib: true\nTag: py3-none-any\n';
  const files = { METADATA: `${metadata.join('\n')}\n`, WHEEL: wheel, RECORD: '' };
  const content = zipSync(
    Object.fromEntries(Object.entries(files).map(([file, text]) => [`${folder}/${file}`, strToU8(text)])),
    { mtime: new Date('1990-01-01') },
  );
  return { file: `${base}-py3-none-any.whl`, content };
}

function requirement(text: string): string {
  const wanted = parsePythonRequirement(text.replace(/\s+/g, ' '), { extraInMarker: true });
  if (wanted.kind !== 'named') throw unreadable('needs a package that is in no registry');
  return wanted.text;
}

function isVersion(version: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9.!+_-]{0,100}$/.test(version);
}

function unreadable(why: string): HotcellError {
  return new HotcellError('invalid_argument', `the package of the workspace ${why}`);
}
