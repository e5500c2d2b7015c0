import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../lib/package-root.ts';

/** What every Python sandbox offers, by the names the package index knows. `requirements.txt` pins them. */
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

/** The oldest Python that the pinned versions were resolved for. */
export const pinnedFromMinor = 11;

export function imageFolder(): string {
  return join(packageRoot(), 'images', 'python');
}

export function requirementsFile(): string {
  return join(imageFolder(), 'requirements.txt');
}

/** Names the pinned list: the same list, the same name. */
export function requirementsHash(): string {
  return contentHash(readFileSync(requirementsFile()));
}

/** Twelve hexadecimal digits for some contents, in order. */
export function contentHash(...parts: (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  parts.forEach((part, index) => {
    if (index > 0) hash.update('\0');
    hash.update(part);
  });
  return hash.digest('hex').slice(0, 12);
}

/** Index names of packages differ in case and in `-`, `_` and `.` from what an installer reports. */
export function missingPackages(installed: Record<string, string>): string[] {
  const names = new Set(Object.keys(installed).map(normalizeName));
  return standardPackages.filter((name) => !names.has(name));
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-');
}
