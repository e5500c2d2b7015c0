import { badPackage, localPackage, plainText, type WantedPackage } from './wanted-package.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*/;
const EXTRAS = /^\s*\[([A-Za-z0-9._,\s-]*)\]/;
const SPECIFIER = /^(===|==|!=|<=|>=|~=|<|>)\s*([A-Za-z0-9][A-Za-z0-9.*+!_-]*)$/;
const MARKER_TOKEN =
  /\s*(?:"[A-Za-z0-9 ._+*!~-]*"|'[A-Za-z0-9 ._+*!~-]*'|===|==|!=|<=|>=|~=|<|>|\(|\)|(?:and|or|not|in|os_name|sys_platform|platform_machine|platform_python_implementation|platform_release|platform_system|platform_version|python_version|python_full_version|implementation_name|implementation_version)\b)/y;

/** In the metadata of a package, a marker may be about one of its extras. */
const EXTRA_TOKEN = /\s*extra\b/y;

/** Parses a requirement of Python (PEP 508) without direct references: `name[extra]>=1,<2; python_version < "3.12"`. */
export function parsePythonRequirement(text: string, { extraInMarker = false } = {}): WantedPackage {
  const plain = plainText(text);
  const local = localPackage(plain, ['.whl']);
  if (local !== undefined) {
    if (/\.whl$/.test(local.path) && !/^[A-Za-z0-9_.+!-]+$/.test(local.path.split('/').at(-1)!))
      throw badPackage(text, 'that is not the file name of a wheel');
    return local;
  }
  const [name] = NAME.exec(plain) ?? [];
  if (name === undefined || !/[A-Za-z0-9]$/.test(name)) throw badPackage(text, 'it is not the name of a package');
  let rest = plain.slice(name.length);
  const extras = EXTRAS.exec(rest);
  if (extras !== null) rest = rest.slice(extras[0].length);
  const semicolon = rest.indexOf(';');
  const marker = semicolon === -1 ? undefined : rest.slice(semicolon + 1).trim();
  const versions = (semicolon === -1 ? rest : rest.slice(0, semicolon)).trim();
  if (versions.startsWith('@')) throw badPackage(text, 'direct references (name @ address) are not accepted');
  if (marker !== undefined && !isMarker(marker, extraInMarker))
    throw badPackage(text, 'what follows the semicolon is not a marker');
  const normalized = normalizeName(name);
  return {
    kind: 'named',
    name: normalized,
    text: [
      normalized,
      extrasText(extras?.[1], text),
      specifiersText(versions, text),
      marker === undefined ? '' : ` ; ${marker}`,
    ].join(''),
  };
}

/** A name as indexes compare it (PEP 503). */
export function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-');
}

function extrasText(extras: string | undefined, text: string): string {
  const names = (extras ?? '').split(',').map((one) => one.trim());
  if (extras === undefined || (names.length === 1 && names[0] === '')) return '';
  if (!names.every((one) => /^[A-Za-z0-9]+(?:[._-]+[A-Za-z0-9]+)*$/.test(one)))
    throw badPackage(text, 'its extras are not names');
  return `[${[...new Set(names.map(normalizeName))].sort().join(',')}]`;
}

function specifiersText(versions: string, text: string): string {
  // Parentheses are an older form of the same.
  const bare = /^\((.*)\)$/.exec(versions)?.[1] ?? versions;
  if (bare === '') return '';
  const specifiers = bare.split(',').map((one) => SPECIFIER.exec(one.trim()));
  if (specifiers.includes(null)) throw badPackage(text, 'what follows its name is not a version, such as >=1.2,<2');
  return specifiers
    .map((one) => `${one![1]}${one![2]}`)
    .sort()
    .join(',');
}

/** Only its words are checked: the resolver complains about their order. */
function isMarker(marker: string, withExtra: boolean): boolean {
  const tokens = withExtra ? [MARKER_TOKEN, EXTRA_TOKEN] : [MARKER_TOKEN];
  let at = 0;
  while (at < marker.length) {
    const token = tokens.find((one) => {
      one.lastIndex = at;
      return one.test(marker);
    });
    if (token === undefined) return false;
    at = token.lastIndex;
  }
  return at > 0;
}
