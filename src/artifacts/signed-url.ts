import { createHmac, timingSafeEqual } from 'node:crypto';
import { filePath, parseFilePath } from './file-path.ts';

/** What a link gives: one file of one session of one owner, to read, until a moment. */
export interface FileLink {
  readonly owner: string;
  /** What the address calls the session. */
  readonly session: string;
  /**
   * The session's unique id. SECURITY: an id that its owner chose can be given to another session when the first is closed; a link leads into the one that it was
   * made for, or nowhere.
   */
  readonly uniqueId: string;
  /** Below the workspace, decoded. */
  readonly path: string;
  /** Seconds since 1970. */
  readonly expires: number;
}

/** The path and query of a link that only the holder of the key can make: to be put behind an address. */
export function signedPath(key: Buffer, link: FileLink): string {
  const query = new URLSearchParams({
    owner: link.owner,
    ...(link.uniqueId === link.session ? {} : { opening: link.uniqueId }),
    expires: String(link.expires),
    signature: signature(key, link),
  });
  return `${filePath(link)}?${query}`;
}

/**
 * The link, if it is ours and not yet over. `tampered` and `expired` are told apart for the person who clicked it; a link that was tampered with is never
 * called expired, so that nothing of it is confirmed.
 */
export function verifySignedPath(key: Buffer, pathAndQuery: string, nowMs: number): FileLink | 'tampered' | 'expired' {
  const [path = '', query = ''] = split(pathAndQuery, '?');
  const named = parseFilePath(path);
  const values = new URLSearchParams(query);
  const [owner, expires, given] = ['owner', 'expires', 'signature'].map((name) => only(values, name));
  if (named === undefined || owner === undefined || given === undefined) return 'tampered';
  // One spelling: `1e9`, ` 10` and `010` are numbers too, and the signature is of the number.
  if (expires === undefined || !/^[1-9]\d{0,14}$/.test(expires)) return 'tampered';
  const uniqueId = values.has('opening') ? only(values, 'opening') : named.session;
  // One spelling here too: what the address says already is not said again.
  if (uniqueId === undefined || (values.has('opening') && uniqueId === named.session)) return 'tampered';
  const link = { ...named, owner, uniqueId, expires: Number(expires) };
  if (!isEqual(signature(key, link), given)) return 'tampered';
  return link.expires * 1000 <= nowMs ? 'expired' : link;
}

/** As JSON of a list, in which no member can pass for a part of another. */
function signature(key: Buffer, { owner, session, uniqueId, path, expires }: FileLink): string {
  return createHmac('sha256', key)
    .update(JSON.stringify(['hotcell file link 2', owner, session, uniqueId, path, expires]))
    .digest('base64url');
}

/** As text: the last character of base64 has bits that decoding drops, and one link has one spelling. */
function isEqual(expected: string, given: string): boolean {
  const [left, right] = [Buffer.from(expected), Buffer.from(given)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** A value given twice is two answers to one question. */
function only(values: URLSearchParams, name: string): string | undefined {
  const all = values.getAll(name);
  return all.length === 1 ? all[0] : undefined;
}

function split(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
