import { stringify } from 'smol-toml';
import * as z from 'zod';
import type { SupersededPackage } from '../../sessions/installation.ts';
import { normalizeName } from '../request/python-requirement.ts';
import { type PythonBase, versionIn } from './described-python.ts';
import { parsePlainToml } from './strangers-toml.ts';

const hashesSchema = z.record(z.string().max(20), z.string().max(200));
const url = z
  .string()
  .max(4000)
  .refine((text) => URL.canParse(text));
const place = { url: url.optional(), path: z.string().max(4000).optional() };
const fileSchema = z.object({
  ...place,
  name: z.string().max(500).optional(),
  size: z.number().optional(),
  hashes: hashesSchema.default({}),
});

const packageSchema = z.object({
  // SECURITY: a build script may have written the lock, and both are shown to people and models.
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/),
  version: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._+!-]{0,199}$/)
    .optional(),
  marker: z.string().max(2000).optional(),
  sdist: fileSchema.optional(),
  wheels: z.array(fileSchema).max(2000).optional(),
  archive: fileSchema.optional(),
});

export type LockedPackage = z.infer<typeof packageSchema>;

export const pythonLockSchema = z.object({
  'lock-version': z.string().max(20),
  'created-by': z.string().max(50),
  'requires-python': z.string().max(200).optional(),
  packages: z.array(packageSchema).max(5000).default([]),
});

/** A resolved set (PEP 751): for each package its version, and the files with their hashes that it may be installed from. */
export type PythonLock = z.infer<typeof pythonLockSchema>;

/** The size of the largest lock that is read. A file takes some 350 bytes of it. */
export const LARGEST_LOCK_BYTES = 4_000_000;
/** Some five thousand files: uv writes 80 to 100 characters outside of strings for each. */
const MOST = { mostChars: LARGEST_LOCK_BYTES, mostOutside: 400_000 };

/** Reads `pylock.toml` as uv writes it. Undefined if it is none. Whatever else it says is dropped, so that it cannot influence an installation. */
export function parsePythonLock(toml: string): PythonLock | undefined {
  try {
    return pythonLockSchema.parse(withoutDates(parsePlainToml(toml, MOST)));
  } catch {
    return undefined;
  }
}

export function pythonLockText(lock: PythonLock): string {
  return stringify(lock);
}

/** A lock with other addresses of its files. */
export function withAddresses(lock: PythonLock, change: (url: string) => string): PythonLock {
  const changed = <F extends { url?: string | undefined }>(file: F): F =>
    file.url === undefined ? file : { ...file, url: change(file.url) };
  return {
    ...lock,
    packages: lock.packages.map(({ sdist, wheels, ...one }) => ({
      ...one,
      ...(sdist === undefined ? {} : { sdist: changed(sdist) }),
      ...(wheels === undefined ? {} : { wheels: wheels.map(changed) }),
    })),
  };
}

/** The part of a lock that a base lacks, and what of the base it replaces. */
export interface Difference {
  readonly missing: PythonLock;
  /** Packages of the base whose version a layer replaces. */
  readonly superseded: readonly SupersededPackage[];
}

export function differenceFrom(base: PythonBase, lock: PythonLock): Difference {
  const present = ({ name, version }: LockedPackage) => versionIn(base, name) === version;
  const missing = lock.packages.filter((one) => !present(one));
  return {
    missing: { ...lock, packages: missing },
    superseded: missing.flatMap(({ name, version }) => {
      const from = versionIn(base, name);
      return from === undefined || version === undefined || from === version
        ? []
        : [{ name: normalizeName(name), from, to: version }];
    }),
  };
}

/** TOML has dates, which nothing here needs. */
function withoutDates(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDates);
  if (value instanceof Date || typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, inner]) => !(inner instanceof Date));
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutDates(inner)]));
}
