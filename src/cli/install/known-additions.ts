import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { openDataFolder } from '../../config/folders.ts';
import { requireTrusted } from '../../lib/own-folder.ts';
import { readRegularFile } from '../../lib/read-regular-file.ts';
import type { Additions, KeepPolicy } from './additions.ts';

/**
 * Hashes of the additions that the user allowed in configurations of projects, in a file of the user's data folder.
 * SECURITY: a project may be a stranger's, and contain an entry that looks like Hotcell's. An addition that is not in
 * this file was not allowed by the user.
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

/** Whether a file has the form of this one, and a project in it: Hotcell wrote it. */
export function isKnownAdditionsFile(path: string): boolean {
  try {
    const { data = {} } = knownFile.safeParse(JSON.parse(readRegularFile(path)?.toString('utf8') ?? ''));
    return Object.keys(data).length > 0;
  } catch {
    return false;
  }
}

/** Reads the file. One that is missing or unreadable allows nothing. */
function read(file: string): z.infer<typeof knownFile> {
  try {
    requireTrusted(file); // SECURITY: another local user must not allow additions
    return knownFile.parse(JSON.parse(readRegularFile(file)?.toString('utf8') ?? '{}'));
  } catch {
    return {};
  }
}

/** The hash of an addition. Values may be secrets. */
function markOf(kind: keyof Additions, name: string, value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify([kind, name, value]))
    .digest('base64url');
}
