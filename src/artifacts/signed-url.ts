import { createHmac, timingSafeEqual } from 'node:crypto';
import { filePath, parseFilePath } from './file-path.ts';

/** The content of a link: read access to one file of one session of one owner, until it expires. */
export interface FileLink {
  readonly owner: string;
  /** The session as named in the URL. */
  readonly session: string;
  /**
   * The session's unique id. SECURITY: an id that the owner chose can be reused after the session is closed; a link
   * must never lead into the later session.
   */
  readonly uniqueId: string;
  /** The decoded path, relative to the workspace. */
  readonly path: string;
  /** The expiry, in seconds since 1970. */
  readonly expires: number;
}

/** The path and query of a signed link, to be appended to the base URL. Only the holder of the key can create it. */
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
 * The link, if its signature is valid and it has not expired. The two failures are distinguished for the person who
 * clicked it. The signature is checked first, so that a forged link learns nothing.
 */
export function verifySignedPath(key: Buffer, pathAndQuery: string, nowMs: number): FileLink | 'tampered' | 'expired' {
  const [path = '', query = ''] = split(pathAndQuery, '?');
  const named = parseFilePath(path);
  const values = new URLSearchParams(query);
  const [owner, expires, given] = ['owner', 'expires', 'signature'].map((name) => only(values, name));
  if (named === undefined || owner === undefined || given === undefined) return 'tampered';
  // Only the canonical spelling is valid: `1e9`, ` 10` and `010` are numbers too, and the signature covers the number.
  if (expires === undefined || !/^[1-9]\d{0,14}$/.test(expires)) return 'tampered';
  const uniqueId = values.has('opening') ? only(values, 'opening') : named.session;
  // Only the canonical spelling is valid: the unique id is not repeated if the path contains it.
  if (uniqueId === undefined || (values.has('opening') && uniqueId === named.session)) return 'tampered';
  const link = { ...named, owner, uniqueId, expires: Number(expires) };
  if (!isEqual(signature(key, link), given)) return 'tampered';
  return link.expires * 1000 <= nowMs ? 'expired' : link;
}

/** The signature covers a JSON array, in which the content of one member cannot pass for part of another. */
function signature(key: Buffer, { owner, session, uniqueId, path, expires }: FileLink): string {
  return createHmac('sha256', key)
    .update(JSON.stringify(['hotcell file link 2', owner, session, uniqueId, path, expires]))
    .digest('base64url');
}

/** Compares text: the last character of base64 has bits that decoding ignores, and a link must have one spelling. */
function isEqual(expected: string, given: string): boolean {
  const [left, right] = [Buffer.from(expected), Buffer.from(given)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** The value of a parameter; undefined if it is given twice. */
function only(values: URLSearchParams, name: string): string | undefined {
  const all = values.getAll(name);
  return all.length === 1 ? all[0] : undefined;
}

function split(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
