import nodePath, { type PlatformPath } from 'node:path';

/**
 * Paths, or locations of a mount table, that other paths are compared with. A lookup takes as many steps as the path
 * has names, however many paths the index has. Compares like `isWithin`.
 */
export interface PathIndex<T> {
  /** The values of the paths that are this one or lie above it, innermost first. */
  around(path: string): T[];
  /** The value of a path that is this one, lies above it or lies below it. */
  meeting(path: string): T | undefined;
}

export function pathIndex<T>(
  entries: Iterable<readonly [path: string, value: T]>,
  { sep }: Pick<PlatformPath, 'sep'> = nodePath,
): PathIndex<T> {
  const keyOf = (path: string) => {
    const text = sep === '\\' ? path.toLowerCase().replaceAll(sep, '/') : path;
    return text.endsWith('/') ? text.slice(0, -1) : text;
  };
  const exact = new Map<string, T>();
  /** A value for each folder that contains a path of the index. */
  const holding = new Map<string, T>();
  for (const [path, value] of entries) {
    const key = keyOf(path);
    if (exact.has(key)) continue;
    exact.set(key, value);
    for (let folder = parentOf(key); folder !== undefined && !holding.has(folder); folder = parentOf(folder))
      holding.set(folder, value);
  }
  const around = (path: string) => {
    const found: T[] = [];
    for (let key: string | undefined = keyOf(path); key !== undefined; key = parentOf(key)) {
      const value = exact.get(key);
      if (value !== undefined) found.push(value);
    }
    return found;
  };
  return { around, meeting: (path) => around(path)[0] ?? holding.get(keyOf(path)) };
}

function parentOf(key: string): string | undefined {
  const end = key.lastIndexOf('/');
  return end === -1 ? undefined : key.slice(0, end);
}
