import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../lib/package-root.ts';

/** The packages of every Python sandbox, by their names in the package index. `requirements.txt` pins them. */
export const standardPackages = [
  'ipython',
  'numpy',
  'pandas',
  'matplotlib',
  'scipy',
  'seaborn',
  'openpyxl',
  'reportlab',
  'pyarrow',
  'pillow',
] as const;

/** The oldest minor version of Python 3 that the pinned versions were resolved for. */
export const pinnedFromMinor = 11;

export function imageFolder(): string {
  return join(packageRoot(), 'images', 'python');
}

export function requirementsFile(): string {
  return join(imageFolder(), 'requirements.txt');
}

/** A hash of the pinned list. */
export function requirementsHash(): string {
  return contentHash(readFileSync(requirementsFile()));
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
  return standardPackages.filter((name) => !names.has(name));
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-');
}
