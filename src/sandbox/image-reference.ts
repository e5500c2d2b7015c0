/**
 * An image's name with all optional parts: `python` is `docker.io/library/python:latest`. Undefined for an id, which is
 * not a name. SECURITY: an engine takes a short name such as `cafe` for the prefix of an image id if it has no image of
 * that name. A full name is always taken for a name.
 */
export function fullImageName(name: string): string | undefined {
  if (isImageId(name)) return undefined;
  const [named = '', digest] = split(name, name.indexOf('@'));
  const path = withRegistry(named.replace(/:[^:/]*$/, ''));
  if (digest !== undefined) return `${path}@${digest}`; // the engine ignores a tag beside a digest
  const tag = /:([^:/]*)$/.exec(named)?.[1];
  return `${path}:${tag ?? 'latest'}`;
}

function isImageId(name: string): boolean {
  return /^(sha256:)?[0-9a-f]{64}$/i.test(name);
}

/**
 * Whether a pattern allows a full name. `*` stands for any characters except `/`; a pattern without a tag means
 * `latest`, unless it ends with `*`. It does not backtrack, so time is linear in the number of stars.
 */
export function matchesImagePattern(fullName: string, pattern: string): boolean {
  const wanted = (pattern.endsWith('*') ? withRegistry(pattern) : (fullImageName(pattern) ?? pattern)).split('/');
  const given = fullName.split('/');
  return wanted.length === given.length && wanted.every((part, index) => matchesPart(given[index]!, part));
}

function matchesPart(text: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let from = first.length;
  const end = text.length - last.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, from);
    if (found === -1 || found + piece.length > end) return false;
    from = found + piece.length;
  }
  return from <= end;
}

/** Adds the registry as the engine does: the first part is a registry if it cannot be a name on Docker Hub. */
function withRegistry(path: string): string {
  const [first = '', rest] = split(path, path.indexOf('/'));
  if (rest === undefined) return `docker.io/library/${path}`;
  if (first === 'index.docker.io' || first === 'docker.io') {
    return rest.includes('/') ? `docker.io/${rest}` : `docker.io/library/${rest}`;
  }
  return /[.:A-Z]/.test(first) || first === 'localhost' ? path : `docker.io/${path}`;
}

function split(text: string, at: number): [string, string?] {
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
