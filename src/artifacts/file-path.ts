/** The URL path of a file: `/files/{session}/{path}`, with each name encoded separately. */

export interface NamedFile {
  readonly session: string;
  /** The decoded path, relative to the workspace. */
  readonly path: string;
}

const PREFIX = '/files/';
const LONGEST_PATH_BYTES = 4096;

export function filePath({ session, path }: NamedFile): string {
  return PREFIX + [session, ...path.split('/')].map(encodeURIComponent).join('/');
}

/**
 * The file that a URL path names, or undefined if it is invalid. SECURITY: names are decoded once and compared, never
 * resolved: a `..`, a slash, a NUL or an incomplete character, encoded or not, is refused, and `%252e` is a name that
 * contains a per cent sign. The guest checks the path again.
 */
export function parseFilePath(encoded: string): NamedFile | undefined {
  if (!encoded.startsWith(PREFIX)) return undefined;
  const [session, ...names] = encoded.slice(PREFIX.length).split('/').map(decoded);
  if (session === undefined || names.length === 0 || names.includes(undefined)) return undefined;
  const path = names.join('/');
  return Buffer.byteLength(path) > LONGEST_PATH_BYTES ? undefined : { session, path };
}

function decoded(name: string): string | undefined {
  let text: string;
  try {
    text = decodeURIComponent(name);
  } catch {
    return undefined; // invalid UTF-8, or a lone per cent sign
  }
  return text === '' || text === '.' || text === '..' || /[/\\\0]|\p{Cs}/u.test(text) ? undefined : text;
}
