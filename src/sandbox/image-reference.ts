/**
 * An image's name with everything in it that can be left out: `python` is `docker.io/library/python:latest`. Undefined for an id, which is no name. SECURITY: an engine takes a
 * short name such as `cafe` for the beginning of an id, of whatever image, where it has none of that name. A full name it takes for a name.
 */
export function fullImageName(name: string): string | undefined {
  if (isImageId(name)) return undefined;
  const [named = '', digest] = split(name, name.indexOf('@'));
  const path = withRegistry(named.replace(/:[^:/]*$/, ''));
  if (digest !== undefined) return `${path}@${digest}`; // the engine takes no notice of a tag beside a digest
  const tag = /:([^:/]*)$/.exec(named)?.[1];
  return `${path}:${tag ?? 'latest'}`;
}

function isImageId(name: string): boolean {
  return /^(sha256:)?[0-9a-f]{64}$/i.test(name);
}

/**
 * Whether a full name is one that a pattern allows. `*` stands for any characters but `/`; without a tag a pattern means `latest`, unless it ends with `*`. Time is linear in
 * the number of stars: what matched once is never tried again.
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

/** As the engine does it: what comes first is a registry where it could not be a name of Docker Hub's. */
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
