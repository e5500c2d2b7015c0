/** The path of a file's address: `/files/{session}/{path}`, each name encoded by itself. */

export interface NamedFile {
  readonly session: string;
  /** Below the workspace, decoded. */
  readonly path: string;
}

const PREFIX = '/files/';
const LONGEST_PATH_BYTES = 4096;

export function filePath({ session, path }: NamedFile): string {
  return PREFIX + [session, ...path.split('/')].map(encodeURIComponent).join('/');
}

/**
 * What an address names, or undefined where it names no file. SECURITY: names are decoded once and then compared, never resolved: a `..`, a slash, a
 * NUL or half a character, encoded or not, is refused, and `%252e` is a name with a per cent sign in it. The guest checks the path once more.
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
    return undefined; // not UTF-8, or a per cent sign alone
  }
  return text === '' || text === '.' || text === '..' || /[/\\\0]|\p{Cs}/u.test(text) ? undefined : text;
}
