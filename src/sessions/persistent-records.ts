import { lstat, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { makeOwnFolder, requireTrusted } from '../lib/own-folder.ts';
import { DRIVER_NAMES } from '../sandbox/isolation.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import type { Installation } from './installation.ts';
import { installationSchema } from './installation-log.ts';
import { whyDue } from './lifetime.ts';
import { type WrittenMount, writtenSchema } from './mount-entry.ts';

/** The record of a session that outlives its server, for the next server. */
export interface PersistentRecord {
  readonly uniqueId: string;
  /** The id that the owner uses. */
  readonly id: string;
  readonly name?: string | undefined;
  readonly owner: string;
  readonly driver: (typeof DRIVER_NAMES)[number];
  /** The specification; its id is that of the current sandbox. */
  readonly spec: SandboxSpec;
  /** The mounts as the mount registry compares them; records of older servers have none. */
  readonly registered?: readonly WrittenMount[] | undefined;
  /** The network setting, as a list; records of older servers have none. */
  readonly network?: readonly string[] | undefined;
  /** Names of the services that the session may use. */
  readonly services?: readonly string[] | undefined;
  /** Packages that were installed, in order: a sandbox that replaces this one gets them again. */
  readonly installations?: readonly Installation[] | undefined;
  readonly openedAt: number;
  readonly idleMs: number;
  readonly maxAgeMs: number;
}

/** A record as it was found, and the server that holds it. */
export interface FoundRecord {
  readonly record: PersistentRecord;
  readonly holder: string;
  readonly lastUsedAt: number;
}

/**
 * The records of sessions that outlive their servers: one file each, whose name contains the server that holds it. A
 * takeover renames the file, so that only one of two servers succeeds. A dead server holds nothing (`isServerAlive`).
 */
export interface PersistentRecords {
  /**
   * Writes a record, before its sandbox is created: a container without a record is an orphan. Replaces an earlier
   * record of the session.
   */
  write(record: PersistentRecord): Promise<void>;
  /** Updates the time of last use. */
  touch(uniqueId: string): Promise<void>;
  remove(uniqueId: string): Promise<void>;
  /**
   * All readable records, whichever server holds them. Rejects if the folder cannot be read: an empty answer would end
   * their sandboxes.
   */
  all(): Promise<readonly FoundRecord[]>;
  /** Takes a record over. False if another server was faster. */
  claim(found: FoundRecord): Promise<boolean>;
  /** Whether there is a record of the session. */
  has(uniqueId: string): Promise<boolean>;
  /** Whether a session uses that sandbox, or may be taken over with it. */
  isKept(sandboxId: string): Promise<boolean>;
  /** Removes expired records without a live server, and unfinished files of killed servers. */
  clear(): Promise<void>;
}

/**
 * SECURITY: a driver must only get specs that one of our servers wrote. Unknown members are kept: a spec may have more
 * members than are checked here.
 */
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
  /** The unique id, under the name that it has had since the first version. */
  session: z.string(),
  id: z.string(),
  name: z.string().optional(),
  owner: z.string(),
  driver: z.enum(DRIVER_NAMES),
  spec: specSchema,
  registered: writtenSchema.optional(),
  network: z.array(z.string().max(300)).max(1000).optional(),
  services: z.array(z.string().max(100)).max(1000).optional(),
  installations: z.array(installationSchema).max(1000).optional(),
  openedAt: z.number(),
  idleMs: z.number(),
  maxAgeMs: z.number(),
});

const NAME = /^(s-[0-9a-f]+)\.([0-9a-f]+)\.json$/;
const UNFINISHED = /^s-[0-9a-f]+\.([0-9a-f]+)\.json\.new$/;
const MOST_LOOKS = 20;
/** The size of a hundred environment variables of the maximum length, with every character escaped. */
const MOST_BYTES = 32 * 1_048_576;

export interface RecordsOptions {
  readonly folder: string;
  readonly serverId: string;
  readonly isServerAlive: (serverId: string) => Promise<boolean>;
}

export function createPersistentRecords({ folder, serverId, isServerAlive }: RecordsOptions): PersistentRecords {
  const pathOf = (uniqueId: string, holder = serverId) => join(folder, `${uniqueId}.${holder}.json`);

  /**
   * Reads all records. A record that another server takes over meanwhile changes its name, so it is looked for again;
   * otherwise a sandbox in use would be taken for an orphan.
   */
  async function all(): Promise<FoundRecord[]> {
    for (let look = 1; ; look += 1) {
      const found: Awaited<ReturnType<typeof read>>[] = [];
      // One at a time: there may be many, and other code uses files too.
      for (const name of await names()) found.push(await read(name));
      if (look === MOST_LOOKS || !found.includes('gone'))
        return found.filter((one) => one !== 'gone' && one !== 'no record');
    }
  }

  async function names(): Promise<string[]> {
    // SECURITY: a record decides which host folders its sandbox gets, and who owns it.
    requireTrusted(folder);
    return readdir(folder).catch(unlessMissing([]));
  }

  async function read(name: string): Promise<FoundRecord | 'gone' | 'no record'> {
    const [, uniqueId, holder] = NAME.exec(name) ?? [];
    if (holder === undefined) return 'no record';
    const path = join(folder, name);
    const stats = await lstat(path).catch(unlessMissing(undefined));
    if (stats === undefined) return 'gone';
    // Another kind of file may have such a name: reading a pipe would block, and a device has no end.
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

  return {
    all,
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
    has: async (uniqueId) => (await names()).some((name) => NAME.exec(name)?.[1] === uniqueId),
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

/** The record; undefined if the text is invalid or of an unknown version. */
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
