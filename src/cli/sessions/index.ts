import { resolveDataDir, resolveRunDir } from '../../config/load.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { openTokenStore, type TokenRecord } from '../../http/tokens/store.ts';
import { openServer } from '../../main.ts';
import { createFileRegistry } from '../../sessions/file-registry.ts';
import { expiresAt } from '../../sessions/lifetime.ts';
import type { FoundRecord } from '../../sessions/persistent-records.ts';
import type { Registry } from '../../sessions/registry.ts';
import { standardOutputs } from '../output.ts';
import { shownName } from '../print.ts';

/** A persistent session, as it is shown. */
export interface ShownSession {
  readonly session_id: string;
  readonly name?: string;
  readonly owner: string;
  /** Name of the token that owns the session. */
  readonly owner_name?: string;
  readonly driver: string;
  readonly opened_at: string;
  readonly last_used_at: string;
  readonly expires_at: string;
  /** Whether a running server holds the session. */
  readonly held: boolean;
}

export async function listPersistent(flags: { json?: boolean }): Promise<void> {
  const tokens = await tokenList();
  const found = await persistentSessions(tokens);
  const { stdout, stderr } = standardOutputs();
  if (flags.json) return stdout.json(found);
  if (found.length === 0) await stderr.say('hotcell: there are no persistent sessions.');
  for (const session of found) await stdout.say(lineOf(session, tokens));
}

export async function persistentSessions(tokens?: readonly TokenRecord[]): Promise<ShownSession[]> {
  const known = tokens ?? (await tokenList());
  return Promise.all((await all()).map((record) => shown(record, known)));
}

export async function closePersistent(which: string, flags: { json?: boolean }): Promise<void> {
  const found = await theOne(which);
  const { record, holder } = found;
  if (await isAlive(holder)) {
    throw new HotcellError('session_busy', `the session ${record.id} is in use by a running server`, {
      remedy: 'Close it with close_session on that server, or stop the server first.',
    });
  }
  await end((each) => each.record.uniqueId === record.uniqueId);
  const { stdout } = standardOutputs();
  if (flags.json) return stdout.json(await shown(found, await tokenList()));
  await stdout.say(`Closed ${shownName(record.id)}.`);
}

/**
 * Closes all sessions of an owner that no server holds, so that a revoked token leaves nothing running. Returns their
 * number.
 */
export async function closeAllOf(owner: string): Promise<number> {
  const theirs = (await all()).filter(({ record }) => record.owner === owner);
  const held = await Promise.all(theirs.map(({ holder }) => isAlive(holder)));
  const left = held.filter((isHeld) => !isHeld).length;
  if (left > 0) await end(({ record }) => record.owner === owner);
  return left;
}

/** Ends sessions that no server has, all that can be. Throws if one of them could not be ended. */
async function end(which: (found: FoundRecord) => boolean): Promise<void> {
  await using server = await openServer({ minIsolation: 'process', logLevel: 'silent' });
  const [error] = await server.sessions.endLeft(which);
  if (error !== undefined) throw error;
}

async function theOne(which: string): Promise<FoundRecord> {
  const found = (await all()).filter(({ record }) => [record.uniqueId, record.id, record.name].includes(which));
  const [first, ...others] = found;
  if (first === undefined) {
    throw new HotcellError('session_not_found', `there is no persistent session ${which.slice(0, 100)}`, {
      remedy: 'Run `hotcell sessions` to see them.',
    });
  }
  if (others.length === 0) return first;
  throw new HotcellError('invalid_argument', `${found.length} sessions of several owners have the name ${which}`, {
    remedy: `Pass its unique id: ${found.map(({ record }) => record.uniqueId).join(', ')}`,
  });
}

function all(): Promise<readonly FoundRecord[]> {
  return registry().records.all();
}

function isAlive(serverId: string): Promise<boolean> {
  return registry().isServerAlive(serverId);
}

function registry(): Registry {
  const dataDir = resolveDataDir();
  return createFileRegistry({ dataDir, runRoot: resolveRunDir(dataDir) });
}

function tokenList(): Promise<readonly TokenRecord[]> {
  return openTokenStore(resolveDataDir()).list();
}

async function shown(
  { record, holder, lastUsedAt }: FoundRecord,
  tokens: readonly TokenRecord[],
): Promise<ShownSession> {
  const token = tokens.find(({ id }) => id === record.owner);
  const time = (at: number) => new Date(at).toISOString();
  return {
    session_id: record.id,
    ...(record.name === undefined ? {} : { name: record.name }),
    owner: record.owner,
    ...(token === undefined ? {} : { owner_name: token.name }),
    driver: record.driver,
    opened_at: time(record.openedAt),
    last_used_at: time(lastUsedAt),
    expires_at: time(expiresAt({ ...record, lastUsedAt, inUse: false })),
    held: await isAlive(holder),
  };
}

function lineOf(session: ShownSession, tokens: readonly TokenRecord[]): string {
  const { session_id, name, driver, last_used_at, expires_at, held } = session;
  const minute = (time: string) => `${time.slice(0, 16)}Z`;
  const state = held ? 'in use by a running server' : `no server; expires ${minute(expires_at)}`;
  const called = [session_id, ...(name === undefined || name === session_id ? [] : [name])].map(shownName);
  return [...called, driver, `of ${ownerText(session, tokens)}`, `last used ${minute(last_used_at)}`, state].join('  ');
}

/** The owner as the name of its token, with the id if the name is ambiguous. */
function ownerText({ owner, owner_name }: ShownSession, tokens: readonly TokenRecord[]): string {
  if (owner_name === undefined) return owner;
  const isOnly = tokens.filter(({ name }) => name === owner_name).length === 1;
  return isOnly ? owner_name : `${owner_name} (${owner})`;
}
