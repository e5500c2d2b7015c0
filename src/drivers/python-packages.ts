import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { packageRoot } from '../lib/package-root.ts';

const entrySchema = z.object({
  use: z.string(),
  /** The Debian packages; by default one of the same name. */
  debian: z.array(z.string()).optional(),
});

const standardSchema = z.object({
  /** By group, the packages by their names in the package index, each with its use. `requirements.txt` locks them. */
  packages: z.record(z.string(), z.record(z.string(), z.string())),
  /** Programs of the image by name. A jail has those of the host's /usr. */
  programs: z.record(z.string(), entrySchema),
  /** Fonts of the image by family. A jail has those of the host's /usr/share/fonts. */
  fonts: z.record(z.string(), entrySchema),
});

export type StandardEnvironment = z.infer<typeof standardSchema>;

/** What every Python sandbox has: `images/python/standard.json`, the one list for all drivers. */
export function standardEnvironment(): StandardEnvironment {
  return standardSchema.parse(JSON.parse(readFileSync(join(imageFolder(), 'standard.json'), 'utf8')));
}

/** Rounded sizes of the packages, and of the image with all that it has, to say before they are downloaded. */
export const standardSizes = { downloadMB: 300, installedMB: 1100, imageDownloadMB: 420, imageMB: 1600 } as const;

/** The packages of every Python sandbox, by their names in the package index. */
export function standardPackages(): string[] {
  return Object.values(standardEnvironment().packages).flatMap((group) => Object.keys(group));
}

/** The minor versions of Python 3 for which every locked package has a wheel. */
export const pinnedMinors = { from: 11, to: 14 } as const;

export function imageFolder(): string {
  return join(packageRoot(), 'images', 'python');
}

export function requirementsFile(): string {
  return join(imageFolder(), 'requirements.txt');
}

/** The lock of the uv that installs the packages. */
export function uvRequirementsFile(): string {
  return join(imageFolder(), 'uv.txt');
}

/** The program that finishes an environment after its packages are installed. */
export function finishProgram(): string {
  return join(imageFolder(), 'finish.py');
}

/** The number of locked packages, those that only others need included. */
export function lockedCount(): number {
  return readFileSync(requirementsFile(), 'utf8').match(/^[^\s#=]+==/gm)?.length ?? 0;
}

/** A hash of the files that an environment is made from. */
export function requirementsHash(): string {
  return contentHash(readFileSync(requirementsFile()), readFileSync(finishProgram()));
}

/** A hash of the parts, in order, as twelve hexadecimal digits. */
export function contentHash(...parts: (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  parts.forEach((part, index) => {
    if (index > 0) hash.update('\0');
    hash.update(part);
  });
  return hash.digest('hex').slice(0, 12);
}

/**
 * The standard packages that are not installed. Names in the index differ in case and in `-`, `_` and `.` from those
 * that an installer reports.
 */
export function missingPackages(installed: Record<string, string>): string[] {
  const names = new Set(Object.keys(installed).map(normalizeName));
  return standardPackages().filter((name) => !names.has(name));
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-');
}
