import { HotcellError } from '../../errors/hotcell-error.ts';
import { LAYERS } from '../../sandbox/layers.ts';
import { mountDenied } from '../../sandbox/mount-denied.ts';
import type { Mount } from '../../sandbox/spec.ts';
import type { ImageDescription } from './engine-image.ts';
import { type ImageFiles, walk } from './image-files.ts';
import { findPython, type ImagePython, isBelow, searchFolders } from './image-python.ts';
import { requireNothingThere } from './image-targets.ts';

/** The paths at which a container has other file systems than its image. */
export interface ContainerPlaces {
  /** The paths of the file systems in memory. */
  readonly memory: readonly string[];
  readonly mounts: readonly Pick<Mount, 'target'>[];
}

/** Folders that every container mounts file systems at. */
const SYSTEM_PLACES = ['/proc', '/sys', '/dev', '/etc'];

/**
 * Reviews an image other than the standard one before any program of it runs. Returns the interpreter to start. Throws
 * `start_failed` for an image that cannot become a sandbox, and `mount_denied` if a mount would change how the guest
 * starts.
 */
export async function reviewImage(
  image: ImageDescription,
  files: ImageFiles,
  places: ContainerPlaces,
): Promise<ImagePython | undefined> {
  const targets = places.mounts.map(({ target }) => target);
  requireVolumesApart(image, targets);
  const inLayers = image.volumes.find((volume) => volume !== LAYERS && isBelow(volume, LAYERS));
  if (inLayers !== undefined) throw unusable(image.name, `declares a volume at ${JSON.stringify(inLayers)}`);
  await requirePlainNames(image, files);
  await requireFolders(image, files, [...places.memory, ...targets, ...SYSTEM_PLACES]);
  const python = await findPython(files, image.path, places.memory);
  requireApart(targets, [...searchFolders(image.path), ...(python?.startsFrom ?? [])]);
  await requireNothingThere(files, { targets, memory: [...places.memory, ...image.volumes], python });
  return python;
}

/**
 * SECURITY: the engine, as root, would create a folder for the volume inside the host folder that is mounted above it.
 */
function requireVolumesApart({ name, volumes }: ImageDescription, targets: readonly string[]): void {
  for (const target of targets) {
    const inside = volumes.find((volume) => volume !== target && isBelow(volume, target));
    if (inside === undefined) continue;
    throw mountDenied(
      `${target}: the image ${name} declares a volume below it, at ${JSON.stringify(inside)}`,
      'Mount at another place, or build the image without that VOLUME.',
    );
  }
}

/**
 * SECURITY: the engine looks up the group of a container in the image's /etc/group, by number and by name. A group
 * *named* with our gid could map it to a group of the host such as adm, whose permissions apply in mounted folders.
 */
async function requirePlainNames({ name }: ImageDescription, files: ImageFiles): Promise<void> {
  for (const path of ['/etc/group', '/etc/passwd']) {
    const found = await walk(files, path);
    if (found.kind === 'absent') continue;
    if (found.kind !== 'file') throw unusable(name, `has something at ${path} that is not a file`);
    const lines = (await files.read(found.path)).toString('utf8').split(/[\r\n]/);
    if (!lines.some(hasNumberAsName)) continue;
    throw unusable(name, `has a name in ${path} that is a number`);
  }
}

/**
 * Whether the name in this line is a number. The engine trims white space around a line; signs are stripped here as
 * well.
 */
export function hasNumberAsName(line: string): boolean {
  return /^[^\p{L}\p{N}]*\d+[^\p{L}\p{N}]*$/u.test(line.split(':', 1)[0] ?? '');
}

/**
 * SECURITY: a symbolic link would put a file system, or a host folder, at a path that was not checked. A link into
 * /proc makes runsc fail and leaves a process of the engine behind for each attempt. Paths below other mounts do not
 * come from the image.
 */
async function requireFolders({ name }: ImageDescription, files: ImageFiles, places: readonly string[]): Promise<void> {
  for (const place of places) {
    if (places.some((other) => other !== place && isBelow(place, other))) continue;
    const { kind, links } = await walk(files, place);
    if (links.length > 0) throw unusable(name, `has a link at ${JSON.stringify(links[0])}, on the way to ${place}`);
    if (kind !== 'folder' && kind !== 'absent') throw unusable(name, `has a file at ${place}, or above it`);
  }
}

/**
 * SECURITY: the image's Python installs the guest's system call filter. An interpreter from a folder of the caller
 * would install none, and under gVisor no other filter keeps setuid files out of mounted folders.
 */
function requireApart(targets: readonly string[], image: readonly string[]): void {
  for (const target of targets) {
    const taken = image.find((path) => isBelow(path, target) || isBelow(target, path));
    if (taken === undefined) continue;
    throw mountDenied(
      `${target}: the image has programs there, or its Python (${JSON.stringify(taken)})`,
      'Mount below /workspace or /data.',
    );
  }
}

function unusable(image: string, what: string): HotcellError {
  return new HotcellError('start_failed', `the image ${image} ${what}`, {
    remedy: 'Build the image without it, or use another one.',
    data: { image },
  });
}
