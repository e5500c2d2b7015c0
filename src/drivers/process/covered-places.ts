/** Places where a sandbox has folders of its own: what the host has there cannot be shown in it. */
const COVERED = ['/tmp', '/var/tmp', '/dev', '/proc'];

/** The first of those places, or of `more`, that one of the folders lies below. */
export function coveringPlace(folders: readonly string[], ...more: string[]): string | undefined {
  return [...COVERED, ...more].find((place) => folders.some((folder) => folder.startsWith(`${place}/`)));
}
