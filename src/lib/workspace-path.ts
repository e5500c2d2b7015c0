/**
 * Whether this is a canonical path below a workspace: names separated by slashes. SECURITY: lists of files come from a
 * guest, or from a server. `..`, an absolute path or an empty name would lead outside when the path is joined to a
 * folder or resolved as a URL.
 */
export function isWorkspacePath(path: string): boolean {
  return !path.includes('\0') && path.split('/').every((name) => name !== '' && name !== '.' && name !== '..');
}
