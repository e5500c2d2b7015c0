import { HotcellError } from '../errors/hotcell-error.ts';
import { builtInRecipes } from './built-in-recipes.ts';
import type { Recipe } from './recipe.ts';

/** A language that sessions run. */
export interface Language {
  readonly name: string;
  /** Alternative names. */
  readonly aliases: readonly string[];
  readonly extensions: readonly string[];
  /** Whether state is kept between executions: variables, functions, the current folder. */
  readonly keepsState: boolean;
  /** Commands that the sandbox must have. */
  readonly needs: readonly string[];
  /** The Debian packages that contain them. */
  readonly packages?: string | undefined;
  readonly recipe?: Recipe;
}

/** The default language, whose kernel is started with the sandbox. */
export const PYTHON: Language = {
  name: 'python',
  aliases: ['py', 'python3'],
  extensions: ['.py', '.ipynb'],
  keepsState: true,
  needs: [],
};

/** Languages with a kernel in the guest (guest/hotcell_guest/languages/table.py). */
const WITH_KERNEL: readonly Language[] = [
  PYTHON,
  {
    name: 'bash',
    aliases: ['shell'],
    extensions: ['.sh', '.bash'],
    keepsState: true,
    needs: ['bash'],
    packages: 'bash',
  },
  {
    name: 'javascript',
    aliases: ['js', 'node'],
    extensions: ['.js', '.mjs', '.cjs'],
    keepsState: true,
    needs: ['node'],
    packages: 'nodejs',
  },
  {
    name: 'typescript',
    aliases: ['ts'],
    extensions: ['.ts', '.mts', '.cts'],
    keepsState: true,
    needs: ['node'],
    packages: 'nodejs',
  },
];

/** What the result of a command names as its language. Nobody can ask for it by name: `session.command` runs commands. */
export const COMMAND: Language = { name: 'command', aliases: [], extensions: [], keepsState: false, needs: [] };

const ALIASES: Readonly<Record<string, readonly string[]>> = { cpp: ['c++', 'cxx'], go: ['golang'], rust: ['rs'] };

export type Languages = readonly Language[];

/** All languages: those with a kernel, then recipes. A user's recipe replaces a built-in language of the same name. */
export function allLanguages(recipes: readonly Recipe[] = []): Languages {
  const theirs = new Map([...builtInRecipes(), ...recipes].map((recipe) => [recipe.language, recipe]));
  const kernels = WITH_KERNEL.filter(({ name }) => !theirs.has(name));
  return [...kernels, ...[...theirs.values()].map(fromRecipe)];
}

/**
 * The name of the kernel that runs a language (docs/guest-protocol.md, section 7). One kernel runs one execution at a time; different kernels run side by
 * side.
 */
export function kernelOf({ name, recipe }: Pick<Language, 'name' | 'recipe'>): string {
  // SECURITY: a session keeps a lane for each kernel, so any name that a client invents must not be one.
  if (recipe !== undefined || !WITH_KERNEL.some((language) => language.name === name)) return 'recipes';
  return name === 'javascript' || name === 'typescript' ? 'node' : name;
}

/** The language of that name. Throws an error that lists the known ones. */
export function languageNamed(languages: Languages, name: string): Language {
  const wanted = name.toLowerCase();
  const found =
    languages.find((language) => language.name === wanted) ?? languages.find(({ aliases }) => aliases.includes(wanted));
  if (found !== undefined) return found;
  throw new HotcellError('unknown_language', `${JSON.stringify(name.slice(0, 100))} is not a known language`, {
    remedy: `Use one of ${languages.map((language) => language.name).join(', ')}, or add a recipe (docs/guides/languages.md).`,
    data: { known: languages.map((language) => language.name) },
  });
}

/** The language of a file extension, given with its dot. */
export function languageOfExtension(languages: Languages, extension: string): Language | undefined {
  return (
    // A user's recipe may claim an extension of a built-in language.
    languages.findLast(({ extensions }) => extensions.includes(extension)) ??
    languages.findLast(({ extensions }) => extensions.includes(extension.toLowerCase()))
  );
}

/** The hint if commands of a language are missing. */
export function hintFor({ packages }: Language): string {
  const where = packages === undefined ? '' : ` In Debian: apt-get install ${packages}.`;
  return `The process driver shows the programs of this machine's /usr; with docker and gvisor, open the session with an image that has them (docs/guides/packages.md).${where}`;
}

function fromRecipe(recipe: Recipe): Language {
  const { language, extensions, needs, packages } = recipe;
  return { name: language, aliases: ALIASES[language] ?? [], extensions, keepsState: false, needs, packages, recipe };
}
