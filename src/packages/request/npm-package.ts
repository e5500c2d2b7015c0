import { badPackage, plainText, type WantedPackage } from './wanted-package.ts';

const PACKAGE = /^(@[a-z0-9][a-z0-9._~-]*\/[a-z0-9][a-z0-9._~-]*|[a-z0-9][a-z0-9._~-]*)(?:@(.*))?$/i;
/** A version, a range of versions, or a tag. Without `:` and `/`, it can be neither an address nor an alias of another package. */
const RANGE = /^[A-Za-z0-9.^~<>=|*+_ -]+$/;

/** Parses a package of npm: `name`, `@scope/name`, each with a version, range or tag after `@`. */
export function parseNpmPackage(text: string): WantedPackage {
  const plain = plainText(text);
  if (/^[./]|\.tgz$/.test(plain))
    throw badPackage(text, 'a package of the workspace need not be installed: import it by its path, as ./name');
  const [, name, range] = PACKAGE.exec(plain) ?? [];
  if (name === undefined) throw badPackage(text, 'it is not the name of a package');
  if (range !== undefined && (!RANGE.test(range) || range.trimStart().startsWith('-')))
    throw badPackage(text, 'what follows the @ is not a version');
  const version = range?.trim();
  return {
    kind: 'named',
    name: name.toLowerCase(),
    text: version ? `${name.toLowerCase()}@${version}` : name.toLowerCase(),
  };
}
