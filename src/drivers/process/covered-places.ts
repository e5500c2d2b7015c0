/** Paths where a sandbox has file systems of its own, which hide the host's files there. */
const COVERED = ['/tmp', '/var/tmp', '/dev', '/proc'];

/** The first of these paths, or of `more`, that one of the folders lies below. */
export function coveringPlace(folders: readonly string[], ...more: string[]): string | undefined {
  return [...COVERED, ...more].find((place) => folders.some((folder) => folder.startsWith(`${place}/`)));
}
