import { readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { openDataFolder } from '../../config/folders.ts';
import { networkRules } from '../../config/option-types.ts';
import { parseOptions } from '../../config/parse-options.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { coalesced } from '../../lib/coalesced.ts';
import { makeOwnFolder, requireTrusted } from '../../lib/own-folder.ts';
import { SERVICE_NAME } from '../../network/upstreams/upstream.ts';
import { claimedId, hashOf, isTokenId, matches, newToken } from './token.ts';

/** The quotas of a token's holder; by default those of the configuration. */
const tokenQuotas = z.object({
  sessions: z.number().int().min(1).max(10_000).optional(),
  memoryBytes: z.number().int().min(1).optional(),
  executions: z.number().int().min(1).max(100_000).optional(),
  uploadBytes: z.number().int().min(1).optional(),
});
export type TokenQuotas = z.infer<typeof tokenQuotas>;

const serviceList = z.array(z.string().regex(SERVICE_NAME, { error: 'not the name of a service' })).max(100);
const tokenGrants = z.object({
  network: networkRules.optional(),
  services: serviceList.optional(),
  mayInstall: z.boolean().optional(),
});

const record = z.object({
  id: z.string(),
  name: z.string(),
  hash: z.string(),
  createdAt: z.string(),
  quotas: tokenQuotas,
  /** The most that sessions of the holder may reach; by default as configured. */
  network: networkRules.optional(),
  /** Names of the operator's services that sessions of the holder may use; none by default. */
  services: serviceList.optional(),
  /** Whether the holder may install packages; no by default. */
  mayInstall: z.boolean().optional(),
});
type StoredToken = z.infer<typeof record>;

/** The public data of a token, without its secret. */
export interface TokenRecord {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly lastUsedAt?: string;
  readonly quotas: TokenQuotas;
  readonly network?: readonly string[] | undefined;
  readonly services?: readonly string[] | undefined;
  readonly mayInstall?: boolean | undefined;
}

/** The rights of a new token. */
export interface NewToken extends TokenQuotas {
  readonly network?: readonly string[] | undefined;
  readonly services?: readonly string[] | undefined;
  readonly mayInstall?: boolean | undefined;
}

/**
 * Tokens in the data folder, one file each. Creating or revoking a token creates or removes one file, so that several
 * servers and the command line need no lock, and a running server sees a revocation at the next request.
 */
export interface TokenStore {
  /** `text` is shown once; it cannot be recovered. */
  create(name: string, grants?: NewToken): Promise<TokenRecord & { readonly text: string }>;
  list(): Promise<TokenRecord[]>;
  /** Revokes by id or name. Rejects if there is none, or more than one of that name. */
  revoke(idOrName: string): Promise<TokenRecord>;
  /** The record of a token, if it is valid. */
  verify(text: string): Promise<TokenRecord | undefined>;
  /** The token with that id, if it was not revoked. */
  find(id: string): Promise<TokenRecord | undefined>;
}

const USE_IS_NOTED_EVERY_MS = 60_000;

/** Throws if another user of the machine could write tokens there. */
export function openTokenStore(dataDir: string, now: () => number = Date.now): TokenStore {
  const folder = join(dataDir, 'tokens');
  requireTrusted(folder);
  const installation = () => openDataFolder(dataDir);
  const fileOf = (id: string) => join(folder, `${id}.json`);
  const usedFileOf = (id: string) => join(folder, `${id}.used`);

  // SECURITY: the threads that read files are few and serve in order of arrival. Five hundred requests of one token
  // would block the authentication of all other clients.
  const read = coalesced(readNow);
  const lastUse = coalesced((id: string) => stat(usedFileOf(id)).catch(() => undefined));
  const noteUse = coalesced(noteUseNow);

  async function readNow(id: string): Promise<StoredToken | undefined> {
    if (!isTokenId(id)) return undefined;
    const text = await readFile(fileOf(id), 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    try {
      return record.parse(JSON.parse(text));
    } catch {
      return undefined; // a corrupt file is not accepted
    }
  }

  async function shown({ hash: _, ...token }: StoredToken): Promise<TokenRecord> {
    const used = await lastUse(token.id);
    return { ...token, ...(used === undefined ? {} : { lastUsedAt: used.mtime.toISOString() }) };
  }

  async function noteUseNow(id: string): Promise<void> {
    const path = usedFileOf(id);
    const last = await stat(path).catch(() => undefined);
    if (last !== undefined && now() - last.mtimeMs < USE_IS_NOTED_EVERY_MS) return;
    if (last === undefined) await writeFile(path, '', { mode: 0o600 });
    await utimes(path, now() / 1000, now() / 1000);
  }

  async function list(): Promise<TokenRecord[]> {
    const names = await readdir(folder).catch(() => []);
    const ids = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
    const found = (await Promise.all(ids.map(read))).filter((token) => token !== undefined);
    found.sort((a, b) => a.createdAt.localeCompare(b.createdAt));
    return Promise.all(found.map(shown));
  }

  return {
    list,

    async create(name, { network, services, mayInstall, ...quotas } = {}) {
      requireName(name);
      const { id, text } = newToken();
      const token: StoredToken = {
        id,
        name,
        hash: hashOf(text, installation()),
        createdAt: new Date(now()).toISOString(),
        quotas: tokenQuotas.parse(quotas),
        ...parseOptions(tokenGrants, {
          ...(network === undefined ? {} : { network: [...network] }),
          ...(services === undefined ? {} : { services: [...services] }),
          ...(mayInstall === undefined ? {} : { mayInstall }),
        }),
      };
      makeOwnFolder(folder, 0o700);
      await writeFile(`${fileOf(id)}.new`, `${JSON.stringify(token, null, 2)}\n`, { flag: 'wx', mode: 0o600 });
      await rename(`${fileOf(id)}.new`, fileOf(id));
      return { ...(await shown(token)), text };
    },

    async revoke(idOrName) {
      const found = (await list()).filter(({ id, name }) => id === idOrName || name === idOrName);
      const [token] = found;
      if (token === undefined) throw unknown(idOrName);
      if (found.length > 1) throw ambiguous(idOrName, found);
      await rm(fileOf(token.id), { force: true });
      await rm(usedFileOf(token.id), { force: true });
      return token;
    },

    async verify(text) {
      const id = claimedId(text);
      const token = id === undefined ? undefined : await read(id);
      // A comparison is made in any case: its duration must not reveal whether the id exists.
      if (!matches(text, installation(), token?.hash ?? hashOf('', '')) || token === undefined) return undefined;
      await noteUse(token.id).catch(() => {}); // a full disk must not lock out a client
      return shown(token);
    },

    async find(id) {
      const token = await read(id);
      return token === undefined ? undefined : shown(token);
    },
  };
}

function requireName(name: string): void {
  if (/^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,63}$/u.test(name)) return;
  throw new HotcellError('invalid_argument', `${JSON.stringify(name)} is not a valid name of a token`, {
    remedy: 'Use up to 64 letters, digits, spaces, dots, dashes, @ and underscores.',
  });
}

function unknown(idOrName: string): HotcellError {
  return new HotcellError('invalid_argument', `there is no token ${JSON.stringify(idOrName)}`, {
    remedy: 'Run `hotcell token list` to see all tokens.',
  });
}

function ambiguous(name: string, found: readonly TokenRecord[]): HotcellError {
  return new HotcellError('invalid_argument', `${found.length} tokens have the name ${name}`, {
    remedy: `Pass its id: ${found.map(({ id }) => id).join(', ')}.`,
  });
}
