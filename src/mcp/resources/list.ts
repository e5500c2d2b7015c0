import {
  type ListResourcesResult,
  ProtocolError,
  ProtocolErrorCode,
  type Resource,
} from '@modelcontextprotocol/server';
import type { ManagedSession } from '../../directory/directory.ts';
import { mediaTypeOf } from '../../lib/media-type.ts';
import { quotedName } from '../../lib/said-inside.ts';
import type { McpDeps } from '../deps.ts';
import { fileUri, logUri } from './uris.ts';

/** Limits of a page: its resources, and the total length of the names of files, each of which is in it three times. */
const PAGE_RESOURCES = 500;
const PAGE_CHARS = 40_000;
const LISTED_PER_SESSION = 100;
/** A character of a name takes so many in the page: as an escape in the name and in the title, and in the URI. */
const CHARS_MADE = 15;

/** A resource that is not described yet. */
interface Found {
  /** Length of its name. */
  readonly chars: number;
  describe(): Resource;
}

export interface ListRequest {
  readonly cursor: string | undefined;
  /** Waits for a turn of the owner, for work on so many characters. */
  turn(chars: number): Promise<void>;
}

/**
 * One page of the files and logs of the owner's sessions. SECURITY: a program chooses names of files, of up to 4,096
 * characters, and an owner has many sessions: without pages one list had 44 MB, and took 3 s of the main thread. So
 * names are counted before they are quoted, over all sessions, and quoted within a turn.
 */
export async function listResources(
  { directory, owner }: Pick<McpDeps, 'directory' | 'owner'>,
  { cursor, turn }: ListRequest,
): Promise<ListResourcesResult> {
  const sessions = directory.list(owner);
  const start = startOf(cursor, sessions);
  const page: Found[] = [];
  let chars = 0;
  let next: string | undefined;
  for (const [index, managed] of sessions.slice(start.session).entries()) {
    const skipped = index === 0 ? start.skipped : 0;
    const found = [...(await filesOf(managed)), ...(await logsOf(managed))].slice(skipped);
    const end = found.findIndex((each, at) => {
      chars += each.chars;
      return chars > PAGE_CHARS || page.length + at >= PAGE_RESOURCES;
    });
    page.push(...found.slice(0, end === -1 ? found.length : end));
    if (end === -1) continue;
    next = `${skipped + end}@${managed.id}`;
    break;
  }
  if (page.length > 0) await turn(Math.min(chars, PAGE_CHARS) * CHARS_MADE);
  return { resources: page.map(({ describe }) => describe()), ...(next === undefined ? {} : { nextCursor: next }) };
}

/** Where a page starts: the session, and how many of its resources earlier pages had. */
function startOf(
  cursor: string | undefined,
  sessions: readonly ManagedSession[],
): { readonly session: number; readonly skipped: number } {
  if (cursor === undefined) return { session: 0, skipped: 0 };
  const [, skipped, id] = /^(\d{1,4})@(.{1,200})$/.exec(cursor) ?? [];
  const session = sessions.findIndex((managed) => managed.id === id);
  if (session !== -1) return { session, skipped: Number(skipped) };
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'cursor: unknown, or its session is closed: list again');
}

async function filesOf(managed: ManagedSession): Promise<Found[]> {
  const { entries } = await managed.session.files
    .list('.', { recursive: true, limit: LISTED_PER_SESSION })
    .catch(() => ({ entries: [] })); // the session is being closed
  return entries
    .filter(({ kind }) => kind === 'file')
    .map(({ path, sizeBytes }) => ({
      chars: path.length,
      describe: () => {
        const name = quotedName(path);
        return { uri: fileUri(managed.id, path), name, title: name, mimeType: mediaTypeOf(path), size: sizeBytes };
      },
    }));
}

/** Logs that hold more than the reply did. */
async function logsOf(managed: ManagedSession): Promise<Found[]> {
  const ended = managed.executions().filter((execution) => execution.state() === 'ended');
  const results = await Promise.all(ended.map(({ result }) => result.catch(() => undefined)));
  return results
    .flatMap((result) => (result?.truncation === undefined ? [] : [result.executionId]))
    .slice(-LISTED_PER_SESSION)
    .map((id) => ({
      chars: id.length,
      describe: () => ({
        uri: logUri(managed.id, id),
        name: `${id}.log`,
        title: `Output of ${id}`,
        mimeType: 'text/plain',
      }),
    }));
}
