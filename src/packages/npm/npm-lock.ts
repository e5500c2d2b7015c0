import * as z from 'zod';
import { excessIn } from '../../lib/json-limits.ts';
import { isWorkspacePath } from '../../lib/workspace-path.ts';
import type { VersionedPackage } from '../../sessions/installation.ts';

const packageSchema = z.looseObject({
  // SECURITY: shown to people and models, as the name in its place is.
  version: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,199}$/)
    .optional(),
  resolved: z.string().max(4000).optional(),
  integrity: z.string().max(1000).optional(),
  link: z.literal(false).optional(),
  hasInstallScript: z.boolean().optional(),
});

export const npmLockSchema = z.looseObject({
  lockfileVersion: z.literal(3),
  packages: z
    .record(z.string().max(2000), packageSchema)
    .refine((packages) => Object.keys(packages).length <= 5000)
    .refine((packages) => Object.keys(packages).every(isPlace)),
});

/** A resolved set, as `package-lock.json` has it: each package with its version and the hash of its file. */
export type NpmLock = z.infer<typeof npmLockSchema>;

/** SECURITY: npm copies lists of a package into the lock, such as `engines`, as long as its author likes. The host works on them whenever the lock is used. */
const LIMITS = { members: 60_000, names: 60_000, levels: 32 };

/** Undefined if it is no lock of packages of registries, or has more members than one of thousands of packages. */
export function parseNpmLock(json: string): NpmLock | undefined {
  if (excessIn(json, LIMITS) !== undefined) return undefined;
  try {
    return npmLockSchema.parse(JSON.parse(json));
  } catch {
    return undefined;
  }
}

/** Each package once for each of its versions, those at the top first. */
export function lockedPackages({ packages }: NpmLock): VersionedPackage[] {
  const found = new Map<string, VersionedPackage>();
  const byDepth = Object.entries(packages).sort(([a], [b]) => depth(a) - depth(b));
  for (const [place, { version }] of byDepth) {
    const name = place.split('node_modules/').at(-1)!;
    if (place !== '' && version !== undefined) found.set(`${name}@${version}`, { name, version });
  }
  return [...found.values()];
}

/** Whether some package has a script that runs when it is installed. */
export function hasScripts({ packages }: NpmLock): boolean {
  return Object.values(packages).some(({ hasInstallScript }) => hasInstallScript === true);
}

/** `node_modules/a/node_modules/@scope/b`, or nothing for the set itself. */
function isPlace(path: string): boolean {
  return path === '' || (isWorkspacePath(path) && /^node_modules\/[\w.@~!'()*/-]+$/.test(path));
}

function depth(place: string): number {
  return place.split('node_modules/').length;
}
