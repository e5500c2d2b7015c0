/**
 * Whether this is the path of something below a workspace, in its one spelling: names with slashes between them. SECURITY: a list comes from a guest,
 * or from a server. `..`, an absolute path or an empty name would lead whoever joins it to a folder, or resolves it as an address, to another place.
 */
export function isWorkspacePath(path: string): boolean {
  return !path.includes('\0') && path.split('/').every((name) => name !== '' && name !== '.' && name !== '..');
}
