import { constants } from 'node:fs';
import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeOwnFolder } from '../../lib/own-folder.ts';

/** The entries typed so far, oldest first. The editor walks through them; their file survives the session. */
export interface History {
  entries(): readonly string[];
  /** Remembers an entry. As in shells, an entry that begins with a space is not remembered. */
  add(entry: string): Promise<void>;
  /** Why the history is not saved, if it is not. */
  readonly failure: string | undefined;
}

const MOST_ENTRIES = 1_000;
const LARGEST_ENTRY = 65_536;
const LARGEST_FILE_BYTES = 4 * 1_048_576;

/**
 * The history of one language in the data folder, one JSON string per line. Never fails: without a file it lasts for
 * this session.
 */
export async function openHistory(dataDir: string, language: string): Promise<History> {
  const folder = join(dataDir, 'history');
  const file = join(folder, `${language.replaceAll(/[^a-z0-9+-]/gi, '_')}.jsonl`);
  let entries: string[] = [];
  let failure: string | undefined;
  try {
    // SECURITY: entries may contain secrets, so no other user may read them.
    makeOwnFolder(folder, 0o700);
    const text = await readFile(file, 'utf8').catch(ignoreMissing);
    const all = entriesIn(text);
    entries = all.slice(-MOST_ENTRIES);
    if (entries.length < all.length || text.length > LARGEST_FILE_BYTES) await rewrite(file, entries);
  } catch (error) {
    failure = (error as NodeJS.ErrnoException).code ?? String(error);
  }

  return {
    entries: () => entries,
    failure,
    async add(entry) {
      if (entry.trim() === '' || /^\s/.test(entry) || entry.length > LARGEST_ENTRY || entry === entries.at(-1)) return;
      entries = [...entries.slice(1 - MOST_ENTRIES), entry];
      if (failure === undefined) await append(file, entry).catch(() => {});
    },
  };
}

function entriesIn(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    try {
      const entry: unknown = JSON.parse(line);
      return typeof entry === 'string' ? [entry] : [];
    } catch {
      return []; // an incomplete line of a process that was killed
    }
  });
}

async function append(file: string, entry: string): Promise<void> {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  const handle = await open(file, O_APPEND | O_CREAT | O_NOFOLLOW | O_WRONLY, 0o600);
  try {
    await handle.chmod(0o600);
    await handle.write(`${JSON.stringify(entry)}\n`);
  } finally {
    await handle.close();
  }
}

/** Replaces the file atomically, so that it is never seen half written. */
async function rewrite(file: string, entries: readonly string[]): Promise<void> {
  const draft = `${file}.${process.pid}`;
  const kept = entries.slice(-MOST_ENTRIES / 2);
  await writeFile(draft, kept.map((entry) => `${JSON.stringify(entry)}\n`).join(''), { mode: 0o600 });
  await rename(draft, file);
}

function ignoreMissing(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return '';
  throw error;
}
