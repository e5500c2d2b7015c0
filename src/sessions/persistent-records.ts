import { lstat, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { makeOwnFolder, requireTrusted } from '../lib/own-folder.ts';
import { DRIVER_NAMES } from '../sandbox/isolation.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import { whyDue } from './lifetime.ts';

/** What a later server must know of a session that outlives this one. */
export interface PersistentRecord {
  readonly uniqueId: string;
  /** As its owner calls it. */
  readonly id: string;
  readonly name?: string | undefined;
  readonly owner: string;
  readonly driver: (typeof DRIVER_NAMES)[number];
  /** Its id is that of the sandbox it lives in now. */
  readonly spec: SandboxSpec;
  readonly openedAt: number;
  readonly idleMs: number;
  readonly maxAgeMs: number;
}

/** A record as it was found, and whose it is. */
export interface FoundRecord {
  readonly record: PersistentRecord;
  readonly holder: string;
  readonly lastUsedAt: number;
}

/**
 * The sessions of an installation that outlive their servers: a file for each, whose name says which server holds it. Renaming is how one takes it over, so
 * that of two only one does. A server that is gone holds nothing: `isServerAlive` tells.
 */
export interface PersistentRecords {
  /** Written before its sandbox is made: a container without a record is a remnant. Replaces an older one of the session. */
  write(record: PersistentRecord): Promise<void>;
  /** The session was used. */
  touch(uniqueId: string): Promise<void>;
  remove(uniqueId: string): Promise<void>;
  /** All that can be read, whoever holds them. Rejects where the folder cannot be: that there are none would end their sandboxes. */
  all(): Promise<readonly FoundRecord[]>;
  /** Those whose sandbox may be in use, or be come back to. */
  kept(): Promise<readonly FoundRecord[]>;
  /** False where another server was faster. */
  claim(found: FoundRecord): Promise<boolean>;
  /** Whether somebody is in that sandbox, or may come back to it. */
  isKept(sandboxId: string): Promise<boolean>;
  /** Forgets those that nobody holds and that are over their time, and what a server was writing when it was killed. */
  clear(): Promise<void>;
}

/** SECURITY: what a driver is given must be what one of ours wrote. Other members pass: a spec may know more than is checked here. */
const specSchema = z.looseObject({
  id: z.string().regex(/^s-[0-9a-f]+$/),
  owner: z.string(),
  image: z.string().optional(),
  limits: z.looseObject({
    memoryBytes: z.number(),
    cpus: z.number(),
    processes: z.number(),
    openFiles: z.number(),
    fileBytes: z.number(),
    diskBytes: z.number(),
  }),
  mounts: z.array(
    z.looseObject({
      source: z.string(),
      target: z.string(),
      readOnly: z.boolean(),
      identity: z.object({ device: z.string(), inode: z.string() }),
    }),
  ),
  preloads: z.array(z.string()),
  workspace: z.string().optional(),
  tmpBytes: z.number().optional(),
  persistent: z.looseObject({ interruptAfterMs: z.number(), endAfterMs: z.number() }).optional(),
  environment: z.record(z.string(), z.string()),
}) satisfies z.ZodType<SandboxSpec>;

const recordSchema = z.object({
  version: z.literal(1),
  /** The unique id. Its name in the file is that of the first version. */
  session: z.string(),
  id: z.string(),
  name: z.string().optional(),
  owner: z.string(),
  driver: z.enum(DRIVER_NAMES),
  spec: specSchema,
  openedAt: z.number(),
  idleMs: z.number(),
  maxAgeMs: z.number(),
});

const NAME = /^(s-[0-9a-f]+)\.([0-9a-f]+)\.json$/;
const UNFINISHED = /^s-[0-9a-f]+\.([0-9a-f]+)\.json\.new$/;
const MOST_LOOKS = 20;
/** A hundred of the largest environment variables, each character escaped. */
const MOST_BYTES = 32 * 1_048_576;

export interface RecordsOptions {
  readonly folder: string;
  readonly serverId: string;
  readonly isServerAlive: (serverId: string) => Promise<boolean>;
}

export function createPersistentRecords({ folder, serverId, isServerAlive }: RecordsOptions): PersistentRecords {
  const pathOf = (uniqueId: string, holder = serverId) => join(folder, `${uniqueId}.${holder}.json`);

  /** One that another server takes over meanwhile has another name then: it is looked for again, or a sandbox in use would pass for a remnant. */
  async function all(): Promise<FoundRecord[]> {
    for (let look = 1; ; look += 1) {
      const found: Awaited<ReturnType<typeof read>>[] = [];
      // Not all at once: they may be many, and others read and write files too.
      for (const name of await names()) found.push(await read(name));
      if (look === MOST_LOOKS || !found.includes('gone'))
        return found.filter((one) => one !== 'gone' && one !== 'no record');
    }
  }

  async function names(): Promise<string[]> {
    // SECURITY: a record says which folders of the host its sandbox gets, and whose it is.
    requireTrusted(folder);
    return readdir(folder).catch(unlessMissing([]));
  }

  async function read(name: string): Promise<FoundRecord | 'gone' | 'no record'> {
    const [, uniqueId, holder] = NAME.exec(name) ?? [];
    if (holder === undefined) return 'no record';
    const path = join(folder, name);
    const stats = await lstat(path).catch(unlessMissing(undefined));
    if (stats === undefined) return 'gone';
    // What else may lie here under such a name: a pipe would be waited for, and a device has no end.
    if (!stats.isFile() || stats.size > MOST_BYTES) return 'no record';
    const text = await readFile(path, 'utf8').catch(unlessMissing(undefined));
    if (text === undefined) return 'gone';
    const record = parse(text);
    return record?.uniqueId === uniqueId ? { record: record!, holder, lastUsedAt: stats.mtimeMs } : 'no record';
  }

  async function isOver({ record, lastUsedAt, holder }: FoundRecord): Promise<boolean> {
    if (whyDue({ ...record, lastUsedAt, inUse: false }, Date.now()) === undefined) return false;
    return !(await isServerAlive(holder));
  }

  async function kept(): Promise<FoundRecord[]> {
    const found = await all();
    const over = await Promise.all(found.map(isOver));
    return found.filter((_, index) => over[index] !== true);
  }

  return {
    all,
    kept,
    write: async (record) => {
      makeOwnFolder(folder, 0o700);
      const path = pathOf(record.uniqueId);
      // SECURITY: environment variables in it may be secrets.
      await writeFile(`${path}.new`, textOf(record), { mode: 0o600 });
      await rename(`${path}.new`, path);
    },
    touch: async (uniqueId) => {
      const now = new Date();
      await utimes(pathOf(uniqueId), now, now).catch(() => {});
    },
    remove: (uniqueId) => rm(pathOf(uniqueId), { force: true }),
    claim: async ({ record: { uniqueId }, holder }) => {
      if (holder === serverId) return true;
      try {
        await rename(pathOf(uniqueId, holder), pathOf(uniqueId));
        return true;
      } catch {
        return false;
      }
    },
    isKept: async (sandboxId) => {
      const found = (await all()).find(({ record }) => record.spec.id === sandboxId);
      return found !== undefined && !(await isOver(found));
    },
    clear: async () => {
      for (const found of await all()) {
        if (await isOver(found)) await rm(pathOf(found.record.uniqueId, found.holder), { force: true });
      }
      for (const name of await names()) {
        const holder = UNFINISHED.exec(name)?.[1];
        if (holder !== undefined && !(await isServerAlive(holder))) await rm(join(folder, name), { force: true });
      }
    },
  };
}

function textOf({ uniqueId, ...record }: PersistentRecord): string {
  return JSON.stringify({ version: 1, session: uniqueId, ...record });
}

/** The record, or undefined where the text is none, or of an unknown version. */
function parse(text: string): PersistentRecord | undefined {
  try {
    const { version: _, session: uniqueId, ...record } = recordSchema.parse(JSON.parse(text));
    return record.spec.owner === record.owner ? { uniqueId, ...record } : undefined;
  } catch {
    return undefined;
  }
}

function unlessMissing<T>(instead: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT') return instead;
    throw error;
  };
}
