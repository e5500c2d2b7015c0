import nodePath, { type PlatformPath } from 'node:path';

/**
 * Whether a path is the folder or lies below it. Both are absolute, with links resolved. Case-insensitive on Windows.
 */
export function isWithin(path: string, folder: string, { sep }: Pick<PlatformPath, 'sep'> = nodePath): boolean {
  const [inner, outer] = sep === '\\' ? [path.toLowerCase(), folder.toLowerCase()] : [path, folder];
  return inner === outer || inner.startsWith(outer.endsWith(sep) ? outer : `${outer}${sep}`);
}
