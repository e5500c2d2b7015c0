import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { openDataFolder } from '../../config/folders.ts';
import { requireTrusted } from '../../lib/own-folder.ts';
import type { Additions, KeepPolicy } from './additions.ts';
import { readRegularFile } from './read-regular-file.ts';

/**
 * What a person let stay in the configurations of projects, by hash, in a file of their own data folder. SECURITY: a project is a stranger's, and may come
 * with an entry that looks like ours. What is not in this file was not put there with the person's knowledge.
 */
export interface KnownAdditions {
  policyFor(path: string): KeepPolicy;
  remember(path: string, additions: Additions): void;
}

const knownFile = z.record(z.string(), z.array(z.string()).max(1_000));
const MOST_PROJECTS = 1_000;

export function openKnownAdditions(dataDir: string): KnownAdditions {
  const file = join(dataDir, 'installed.json');
  return {
    policyFor(path) {
      const known = new Set(Object.hasOwn(read(file), path) ? read(file)[path] : []);
      return { isKnown: (kind, name, value) => known.has(markOf(kind, name, value)) };
    },
    remember(path, additions) {
      const marks = (['variables', 'members'] as const).flatMap((kind) =>
        Object.entries(additions[kind]).map(([name, value]) => markOf(kind, name, value)),
      );
      const { [path]: _, ...others } = read(file);
      const kept = [...Object.entries(others).slice(1 - MOST_PROJECTS), ...(marks.length === 0 ? [] : [[path, marks]])];
      openDataFolder(dataDir);
      writeFileSync(file, `${JSON.stringify(Object.fromEntries(kept))}\n`, { mode: 0o600 });
    },
  };
}

/** One that is missing or cannot be read knows nothing: then less is kept. */
function read(file: string): z.infer<typeof knownFile> {
  try {
    requireTrusted(file); // another local user must not say what this one knows
    return knownFile.parse(JSON.parse(readRegularFile(file)?.toString('utf8') ?? '{}'));
  } catch {
    return {};
  }
}

/** A hash: values may be secrets. */
function markOf(kind: keyof Additions, name: string, value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify([kind, name, value]))
    .digest('base64url');
}
