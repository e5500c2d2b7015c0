import * as z from 'zod';
import { contentKey } from '../content-key.ts';
import { normalizeName } from '../request/python-requirement.ts';

const text = z.string().max(1000);

const baseSchema = z.object({
  /** The path of the interpreter: console scripts name it. */
  python: text.startsWith('/'),
  version: text,
  abi: text,
  libc: text,
  machine: text,
  packages: z.record(text, text).refine((packages) => Object.keys(packages).length <= 5000),
});

/** The Python that packages are installed for, as a builder of the same driver and image described it (guest: bootstrap/describe_base.py). */
export interface PythonBase extends z.infer<typeof baseSchema> {
  /** Equal for bases in which the same layer works. */
  readonly key: string;
}

/** Undefined if the text is no such description. Names of packages are normalized. */
export function parseBase(json: string): PythonBase | undefined {
  try {
    const base = baseSchema.parse(JSON.parse(json));
    const packages = Object.fromEntries(
      Object.entries(base.packages)
        .map(([name, version]) => [normalizeName(name), version] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
    return { ...base, packages, key: contentKey(['base', { ...base, packages }]) };
  } catch {
    return undefined;
  }
}

/** The version of a package that a base has. There are packages called `constructor`, as every object has. */
export function versionIn({ packages }: PythonBase, name: string): string | undefined {
  const normalized = normalizeName(name);
  return Object.hasOwn(packages, normalized) ? packages[normalized] : undefined;
}

/** A base with the packages of layers in it. */
export function withPackages(base: PythonBase, added: readonly { name: string; version: string }[]): PythonBase {
  return {
    ...base,
    packages: { ...base.packages, ...Object.fromEntries(added.map(({ name, version }) => [name, version])) },
  };
}

/** One line `name==version` for each package: constraints for a resolver, but for those in `except`. */
export function pinnedVersions({ packages }: PythonBase, except: ReadonlySet<string> = new Set()): string {
  return Object.entries(packages)
    .filter(([name, version]) => !except.has(name) && isPlain(name) && isPlain(version))
    .map(([name, version]) => `${name}==${version}\n`)
    .join('');
}

/** SECURITY: an image may have a package with any metadata; a line of ours must not become an option. */
function isPlain(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._+!-]*$/.test(text);
}
